import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { moveDemoPrices } from '../src/demo/demo-feed.js';
import { setTimeout as delay } from 'node:timers/promises';
import { demoMarkets, type DemoMarket as Stored } from '../src/demo/demo-markets.js';
import { prepareDemo } from '../src/demo/prepare-demo.js';
import { Market } from '../src/markets/market.schema.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { until } from './until.js';

const records = demoMarkets();
const writtenAt = records[0]?.updatedAt;

let service: TestApp;
let stop: AbortController;
let feed: Promise<void>;

beforeEach(async () => {
  service = await createTestApp();
  await store(service.database.connection, ...records);
  stop = new AbortController();
  feed = moveDemoPrices(service.database.connection, { pauseMs: 1, signal: stop.signal });
});

afterEach(async () => {
  await end();
  await service.close();
});

async function end(): Promise<void> {
  stop.abort();
  await feed.catch(() => undefined);
}

function collection() {
  return service.database.connection.collection<Stored>('markets');
}

function stored(): Promise<Stored[]> {
  return collection().find().sort({ _id: 1 }).toArray();
}

it('moves prices of live markets, and callers see it', async () => {
  const path = '/v1/markets/market/fixture/demo-fixture-1?marketMoment=live&take=100';
  const { body: before } = await service.get(path).expect(200);
  await until(async () => (await countMoved()) > 10);
  await until(async () => (await countMoved({ fixtureId: 'demo-fixture-1' })) > 0);
  await end();

  await until(async () => {
    const { body } = await service.get(path).expect(200);
    return JSON.stringify(body) !== JSON.stringify(before);
  });
  const moved = await stored();
  expect(moved.map(withoutPrices)).toEqual(records.map(withoutPrices));
  expect(moved.filter(isPrelive)).toEqual(records.filter(isPrelive));
});

it('stops for good when another market is there', async () => {
  await until(async () => (await countMoved()) > 0);
  const other = aMarket({ fixtureId: 'demo-fixture-1' });
  await store(service.database.connection, other);
  await feed;
  const prices = await stored();
  await collection().deleteOne({ marketId: other.marketId });
  // Time for many changes.
  await delay(50);
  expect(await stored()).toEqual(prices.filter(({ marketId }) => marketId !== other.marketId));
});

it('goes on when MongoDB was away', async () => {
  const { collection: markets } = service.database.connection.model(Market.name);
  const find = jest.spyOn(markets, 'findOne').mockRejectedValueOnce(new Error('MongoDB is away'));
  await until(() => find.mock.calls.length > 1);
  const updatedAt = { $gt: new Date() };
  await until(async () => (await countMoved({ updatedAt })) > 0);
});

it('begins with all markets or none: a start that fails under way leaves nothing behind', async () => {
  await end();
  const markets = collection();
  await markets.deleteMany();
  const insert = markets.insertMany.bind(markets);
  jest.spyOn(markets, 'insertMany').mockImplementationOnce(async (...args) => {
    await insert(...args);
    throw new Error('killed');
  });
  await expect(prepareDemo(service.database.connection)).rejects.toThrow('killed');
  expect(await stored()).toEqual([]);
  expect(await prepareDemo(service.database.connection)).toBe(true);
  expect(await stored()).toEqual(records);
});

it('puts no demo markets beside those of others', async () => {
  await end();
  await collection().deleteMany();
  const own = aMarket();
  await store(service.database.connection, own);
  expect(await prepareDemo(service.database.connection)).toBe(false);
  expect((await stored()).map(({ marketId }) => marketId)).toEqual([own.marketId]);
  // The key is good all the same: the start shows it.
  expect((await service.keys.list()).map(({ _id }) => _id)).toContain('demo00000000');
});

function isPrelive({ marketMoment }: Stored): boolean {
  return marketMoment === 'prelive';
}

function countMoved(filter = {}): Promise<number> {
  return collection().countDocuments({ updatedAt: { $gt: writtenAt }, ...filter });
}

function withoutPrices({ updatedAt: _updatedAt, runners, ...rest }: Stored): object {
  return { ...rest, runners: runners.map((runner) => ({ ...runner, price: 0 })) };
}
