import { expect, it } from '@jest/globals';
import type { Runner } from '../markets/market.schema.js';
import { withMovedPrices } from './demo-feed.js';
import { demoMarkets } from './demo-markets.js';

const live = demoMarkets().filter(({ marketMoment }) => marketMoment === 'live');
const chances = (runners: readonly Runner[]) =>
  runners.reduce((sum, { price }) => sum + 1 / price, 0);

it.each(live.slice(0, 7).map((market) => [market.name, market] as const))(
  'moves the prices of %s, and keeps them plausible',
  (_name, { runners }) => {
    for (let count = 0; count < 200; count += 1) {
      const moved = withMovedPrices(runners);
      for (const [index, { price, ...rest }] of moved.entries()) {
        const { price: first = 0, ...same } = runners[index] ?? {};
        expect(rest).toEqual(same);
        expect(price).toBe(Math.max(1.01, Number(price.toFixed(2))));
        expect(Math.abs(price / first - 1)).toBeLessThan(0.07);
      }
      // Prices are rounded to hundredths.
      expect(Math.abs(chances(moved) - chances(runners))).toBeLessThan(0.01 * runners.length);
    }
  },
);

it('keeps the margin of each line of a market that has several', () => {
  const { runners = [] } = live.find(({ marketType }) => marketType === 'UNDER_OVER_HT') ?? {};
  const lines = [...new Set(runners.map(({ line }) => line))];
  expect(lines).toHaveLength(3);
  for (let count = 0; count < 200; count += 1) {
    const moved = withMovedPrices(runners);
    for (const line of lines) {
      const [after, before] = [moved, runners].map((all) =>
        chances(all.filter((runner) => runner.line === line)),
      );
      // Prices are rounded to hundredths.
      expect(Math.abs(Number(after) - Number(before))).toBeLessThan(0.01);
    }
  }
});
