import { describe, expect, test } from '@jest/globals';
import { model, Types } from 'mongoose';
import { checkRecord } from '../markets/import/market-record.js';
import { MARKET_TYPES, MarketSchema, type MarketType } from '../markets/market.schema.js';
import { demoMarkets } from './demo-markets.js';

const RUNNERS: Record<MarketType, number> = {
  BTTS: 2,
  OVER_UNDER: 2,
  MATCH_ODDS: 3,
  DOUBLE_CHANCE: 3,
  UNDER_OVER_HT: 6,
};

const markets = demoMarkets();

function distinct(values: readonly string[]): number {
  return new Set(values).size;
}

describe('the demo markets', () => {
  test('are the same each time', () => {
    expect(demoMarkets()).toEqual(markets);
  });

  test('cover some dozen fixtures of four providers, before and during the match', () => {
    expect(distinct(markets.map(({ fixtureId }) => fixtureId))).toBe(36);
    expect(distinct(markets.map(({ provider }) => provider))).toBe(4);
    expect(distinct(markets.map(({ eventId }) => eventId))).toBe(36 * 4);
    const live = markets.filter(({ marketMoment }) => marketMoment === 'live');
    expect([live.length, markets.length]).toEqual([6 * 4 * 7, (36 + 6) * 4 * 7]);
  });

  test('have the documented ids, with more than one page and markets of all types under them', () => {
    expect(markets[0]).toMatchObject({
      _id: new Types.ObjectId('692000000000000000000001'),
      provider: 'Northbook',
      name: 'Over/Under 2.5',
      marketId: 'nb-1001-ou25',
      eventId: 'nb-1001',
      fixtureId: 'demo-fixture-1',
    });
    const ofEvent = markets.filter(({ eventId }) => eventId === 'nb-1001');
    const ofFixture = markets.filter(({ fixtureId }) => fixtureId === 'demo-fixture-1');
    for (const found of [ofEvent, ofFixture]) {
      expect(found.length).toBeGreaterThan(10);
      expect(distinct(found.map(({ marketType }) => marketType))).toBe(MARKET_TYPES.length);
      expect(distinct(found.map(({ marketMoment }) => marketMoment))).toBe(2);
    }
  });

  test('have ids of their own', () => {
    expect(distinct(markets.map(({ _id }) => String(_id)))).toBe(markets.length);
    const identities = markets.map(({ provider, eventId, marketId }) =>
      [provider, eventId, marketId].join(),
    );
    expect(distinct(identities)).toBe(markets.length);
    const runners = markets.flatMap((market) => market.runners);
    expect(distinct(runners.map(({ runnerId }) => runnerId))).toBe(runners.length);
  });

  test.each(MARKET_TYPES)(
    'have as many runners as %s has, with lines where there are any',
    (type) => {
      const ofType = markets.filter(({ marketType }) => marketType === type);
      expect(ofType.length).toBeGreaterThan(0);
      const lined = type === 'OVER_UNDER' || type === 'UNDER_OVER_HT';
      for (const { runners } of ofType) {
        expect(runners).toHaveLength(RUNNERS[type]);
        expect(runners.every((runner) => 'line' in runner === lined)).toBe(true);
      }
    },
  );

  test('have decimal prices with two digits and a margin for the provider', () => {
    for (const { marketType, runners } of markets) {
      const prices = runners.map(({ price }) => price);
      expect(prices.every((price) => price > 1 && Number(price.toFixed(2)) === price)).toBe(true);
      // What the fair chances of all selections add up to.
      const sum = { DOUBLE_CHANCE: 2, UNDER_OVER_HT: 3 }[marketType as string] ?? 1;
      const margin = prices.reduce((total, price) => total + 1 / price, 0) / sum - 1;
      expect(margin).toBeGreaterThan(0);
      expect(margin).toBeLessThan(0.12);
    }
  });

  test('satisfy the rules of the schema', async () => {
    const Model = model('DemoMarket', MarketSchema);
    const ofEachKind = markets.slice(0, 50);
    expect(distinct(ofEachKind.map(({ marketType }) => marketType))).toBe(MARKET_TYPES.length);
    await Promise.all(ofEachKind.map((market) => new Model(market).validate()));
  });

  test('satisfy the rules of an import', () => {
    const asText = markets.map(({ _id, ...market }) => JSON.stringify(market));
    const faults = asText.flatMap((text) => checkRecord(JSON.parse(text)).faults ?? []);
    expect(faults).toEqual([]);
  });
});
