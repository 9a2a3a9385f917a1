import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MongoClient, Timestamp, type CreateCollectionOptions, type Db } from 'mongodb';
import { createConnection } from 'mongoose';
import { openConnection } from '../../src/database/connection.js';
import { databaseStatus } from '../../src/db-admin/status.js';
import { Market, MarketSchema } from '../../src/markets/market.schema.js';
import { Watch } from '../../src/markets/watch/watch.js';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket, aRunner } from '../factories.js';
import { testDatabaseUri } from '../mongo.js';
import { until } from '../until.js';

/** Generous, for the sake of a busy machine; what is wrong here stays wrong for ever. */
const SOON_MS = 3_000;

describe('a collection of markets that is not as the service makes it', () => {
  let mongodbUri: string;
  let client: MongoClient;
  let db: Db;
  let service: TestApp | undefined;

  beforeEach(async () => {
    mongodbUri = testDatabaseUri();
    client = new MongoClient(mongodbUri);
    db = client.db();
  });

  afterEach(async () => {
    await service?.close();
    await db.dropDatabase();
    await client.close();
  });

  const warnings = () =>
    service?.logged.filter((line) => /The change feed is blind.*which is a /.test(line));

  const start = async () => (service = await createTestApp({ mongodbUri, dbInit: false }));

  it('is not answered from memory while it is a view, and db status says so', async () => {
    const market = aMarket();
    await store('others', market);
    await db.createCollection('markets', { viewOn: 'others' });
    const { database } = await start();
    await untilWarned();
    await expectFresh(market.eventId, 'others');
    const { changeFeed } = await databaseStatus(database.connection);
    const reason = 'MongoDB tells no changes of markets, which is a view';
    expect(changeFeed).toEqual({ on: false, reason });
  });

  it('is not followed where the keys are a view, and db status says so', async () => {
    await db.createCollection('api_keys', { viewOn: 'others' });
    const connection = createConnection();
    connection.model(Market.name, MarketSchema);
    await openConnection(connection, mongodbUri, { minPoolSize: 0 });
    try {
      const { changeFeed } = await databaseStatus(connection);
      const reason = 'MongoDB tells no changes of api_keys, which is a view';
      expect(changeFeed).toEqual({ on: false, reason });
    } finally {
      await connection.close(true);
    }
  });

  it('is no reason to ask MongoDB for a cursor of the future', async () => {
    await store('others', aMarket());
    await db.createCollection('markets', { viewOn: 'others' });
    await start();
    await untilWarned();
    const position = new Timestamp({ t: Math.floor(Date.now() / 1_000) + 3_600, i: 1 });
    const since = new Watch(['eventId:e'], {}).cursorAt(position);
    const path = `/v1/markets/changes?eventId=e&since=${since}`;
    const { body } = await (service as TestApp).get(path).expect(503);
    expect(body.detail).toBe('This replica is behind what it was asked for. Please try again.');
    expect(service?.logged.filter((line) => line.includes('refuses reads'))).toEqual([]);
  });

  it('is not answered from memory once a view stands in its place', async () => {
    const market = aMarket();
    await store('markets', market);
    await start();
    await untilFromMemory(market.eventId);
    await db.renameCollection('markets', 'others');
    await db.createCollection('markets', { viewOn: 'others' });
    await untilWarned();
    await expectFresh(market.eventId, 'others');
  });

  it('is not answered from memory once a view stands where nothing was', async () => {
    const market = aMarket();
    await start();
    await until(async () => (await feedState()) === 'current');
    // Nothing is remembered as well as anything else.
    for (let count = 0; count < 3; count += 1) await shownPrices(market.eventId);
    await store('others', market);
    await db.createCollection('markets', { viewOn: 'others' });
    await until(async () => (await shownPrices(market.eventId)).length === 1, SOON_MS);
    await expectFresh(market.eventId, 'others');
  });

  it('is not answered from memory while it is a time series', async () => {
    await db.createCollection('markets', { timeseries: { timeField: 'updatedAt' } });
    const market = aMarket();
    await store('markets', market);
    await start();
    await untilWarned();
    await expect(shownPrices(market.eventId)).resolves.toHaveLength(1);
    await store('markets', { ...aMarket(), eventId: market.eventId });
    await expect(shownPrices(market.eventId)).resolves.toHaveLength(2);
  });

  it('is answered without what MongoDB deletes by itself, when its time has come', async () => {
    await db.createCollection('markets');
    await db.collection('markets').createIndex({ endsAt: 1 }, { expireAfterSeconds: 0 });
    const market = aMarket();
    await store('markets', market);
    await start();
    await untilFromMemory(market.eventId);
    const endsAt = new Date();
    await db.collection('markets').updateOne({ eventId: market.eventId }, { $set: { endsAt } });
    await until(async () => (await db.collection('markets').countDocuments()) === 0);
    await until(async () => (await shownPrices(market.eventId)).length === 0, SOON_MS);
  });

  it('is followed again once it is a plain collection; the log tells each time that it is, or is none', async () => {
    const market = aMarket();
    await store('others', market);
    await db.createCollection('markets', { viewOn: 'others' });
    await start();
    await untilWarned();
    await db.dropCollection('markets');
    await db.renameCollection('others', 'markets');
    await untilFromMemory(market.eventId);
    const told = service?.logged.filter((line) => line.includes('The change feed is back'));
    expect(told).toHaveLength(1);
    await expectFresh(market.eventId, 'markets');
    await db.renameCollection('markets', 'others');
    await db.createCollection('markets', { viewOn: 'others' });
    await untilWarned(2);
  });

  it.each<[kind: string, options: CreateCollectionOptions]>([
    ['with a default collation', { collation: { locale: 'en', strength: 2 } }],
    ['as a clustered one', { clusteredIndex: { key: { _id: 1 }, unique: true } }],
    ['as a capped one', { capped: true, size: 1_000_000, max: 3 }],
  ])('is followed %s, too', async (_kind, options) => {
    const market = aMarket({ eventId: `E-${Date.now()}` });
    await db.createCollection('markets', options);
    await store('markets', market);
    await start();
    // Of a capped collection there are no snapshots to fill memory with.
    if (!options.capped) await untilFromMemory(market.eventId);
    await expectFresh(market.eventId, 'markets');
    if (!options.capped) return;
    for (const path of ['changes', 'stream'])
      await service?.get(`/v1/markets/${path}?eventId=${market.eventId}`).expect(503);
    // A market more than it holds makes MongoDB drop the oldest.
    for (let more = 0; more < 3; more += 1) await store('markets', aMarket());
    await until(async () => (await shownPrices(market.eventId)).length === 0, SOON_MS);
  });

  async function store(collection: string, market: object): Promise<void> {
    await db.collection(collection).insertOne({ ...market });
  }

  /** Changes a price some times, and sees that each is shown. */
  async function expectFresh(eventId: string, collection: string): Promise<void> {
    for (let price = 101; price < 104; price += 1) {
      const runners = [aRunner({ price })];
      await db.collection(collection).updateOne({ eventId }, { $set: { runners } });
      await until(async () => (await shownPrices(eventId))[0] === price, SOON_MS);
    }
  }

  async function shownPrices(eventId: string): Promise<number[]> {
    const answer = await service?.get(`/v1/markets/market/provider/${eventId}`).expect(200);
    const data: { runners: { price: number }[] }[] = answer?.body.data;
    return data.map(({ runners }) => runners[0]?.price ?? NaN);
  }

  /** A feed that has yet to look at the collections is blind, too: it is its warning that says what it saw. */
  async function untilWarned(times = 1): Promise<void> {
    await until(() => warnings()?.length === times);
    await expect(feedState()).resolves.toBe('blind');
  }

  async function feedState(): Promise<string> {
    const answer = await service?.getOpen('/health/ready');
    return answer?.body.changeFeed?.state;
  }

  async function hits(): Promise<number> {
    const metrics = await service?.getOpen('/metrics');
    return Number(/^markets_cache_hits_total (\d+)/m.exec(metrics?.text ?? '')?.[1]);
  }

  async function untilFromMemory(eventId: string): Promise<void> {
    const before = await hits();
    await until(async () => {
      await shownPrices(eventId);
      return (await hits()) > before;
    });
  }
});
