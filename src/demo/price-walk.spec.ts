import { expect, it } from '@jest/globals';
import { demoMarkets } from './demo-markets.js';
import { PriceWalk } from './price-walk.js';

const live = demoMarkets().filter(({ marketMoment }) => marketMoment === 'live');

it.each(live.slice(0, 7).map((market) => [market.name, market] as const))(
  'keeps the prices of %s plausible, however long they move',
  (_name, market) => {
    const walk = new PriceWalk(market);
    const prices = new Map(market.runners.map(({ runnerId, price }) => [runnerId, price]));
    const chances = () => [...prices.values()].reduce((sum, price) => sum + 1 / price, 0);
    const before = chances();
    const seen: number[] = [];
    const drifts: number[] = [];
    for (let count = 0; count < 5_000; count += 1) {
      for (const { runnerId, price } of walk.step()) {
        prices.set(runnerId, price);
        seen.push(price);
      }
      drifts.push(Math.abs(chances() - before));
    }
    expect(seen.length).toBeGreaterThan(1_000);
    expect(seen.filter((price) => price < 1.01 || price !== Number(price.toFixed(2)))).toEqual([]);
    // Prices are rounded to hundredths.
    expect(Math.max(...drifts)).toBeLessThan(0.01 * market.runners.length);
    const moved = market.runners.map(({ runnerId, price }) => (prices.get(runnerId) ?? 0) / price);
    expect(Math.min(...moved)).toBeGreaterThan(0.85);
    expect(Math.max(...moved)).toBeLessThan(1.18);
  },
);
