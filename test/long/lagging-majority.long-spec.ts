import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MongoClient, ObjectId, type Collection } from 'mongodb';
import type { Config } from '../../src/config.js';
import { newestChange } from '../../src/db-admin/newest-change.js';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket, aRunner } from '../factories.js';
import { metric } from '../metric.js';
import { TestMongod } from '../mongo.js';
import { idleCursors, primaryOf, writable } from '../mongo-admin.js';
import { until } from '../until.js';

const START_MS = 60_000;

/** Where MongoDB fails, a change shows after so long, in ms. */
const PROMISED_MS = 2_000;

/** An event of more than the 16 MB of a reply. */
const LARGE = 'large';
const MEGABYTE = 'x'.repeat(1024 * 1024);

/** An event that MongoDB does not read at once: others write meanwhile. */
const LONG = 'long';
const LONG_MARKETS = 1_200;

/** How long it takes, in ms. */
async function takes(act: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await act();
  return performance.now() - begin;
}

describe('while a majority of the members lacks what the primary has', () => {
  const market = aMarket();
  const path = `/v1/markets/market/provider/${market.eventId}`;
  let mongod: TestMongod;
  let service: TestApp;
  let client: MongoClient;
  let markets: Collection;
  let secondary: number;
  let price = 2;

  beforeAll(async () => {
    mongod = await TestMongod.start({ members: 2, arbiter: true });
    await writable(mongod);
    service = await createTestApp({ mongodbUri: mongod.uri });
    client = await MongoClient.connect(mongod.uri);
    markets = client.db(service.database.db.databaseName).collection('markets');
    const stored = { ...market, _id: new ObjectId() };
    const large = Array.from({ length: 17 }, () => ({
      ...aMarket({ eventId: LARGE, name: MEGABYTE }),
      _id: new ObjectId(),
    }));
    const long = Array.from({ length: LONG_MARKETS }, () => ({
      ...aMarket({ eventId: LONG, name: '0' }),
      _id: new ObjectId(),
    }));
    await markets.insertMany([stored, ...large, ...long], { writeConcern: { w: 'majority' } });
    await until(async () => (await feed()).state === 'current' && (await hits()) > 0);
    // Transactions are slowed down in one test alone.
    await setTargetLag(3_600);
    secondary = 1 - (await primaryOf(mongod));
    await mongod.kill('SIGKILL', secondary);
  }, START_MS);

  afterAll(async () => {
    await client?.close();
    await service?.close();
    await mongod?.stop();
  }, START_MS);

  /** It takes the key of the first one, since a new one would wait for a majority. */
  function anotherReplica(settings: Partial<Config> = {}): Promise<TestApp> {
    const config = { mongodbUri: mongod.uri, dbInit: false, ...settings };
    return createTestApp(config, { key: service.key });
  }

  it('shows each new price in time', async () => {
    for (let count = 0; count < 5; count += 1) {
      const changedAt = await changePrice();
      await until(async () => (await shownPrice()) === price);
      expect(performance.now() - changedAt).toBeLessThan(PROMISED_MS);
    }
  });

  it('says that the feed is late, since when, and why', async () => {
    const changedAt = await changePrice();
    await until(async () => (await feed()).state === 'late' && performance.now() - changedAt > 500);
    const sinceChange = (performance.now() - changedAt) / 1_000;
    const { lateBecause, ageSeconds } = await feed();
    expect(lateBecause).toBe('majority_lags');
    expect(ageSeconds).toBeGreaterThanOrEqual(sinceChange);
    // As of the last answer to the feed.
    expect(await lagSeconds()).toBeGreaterThan(sinceChange - 0.2);
    await until(() => lateLines().length > 0);
    expect(lateLines()).toEqual([expect.stringContaining('from MongoDB: majority_lags')]);
  });

  it('has the newest change that a majority has in its database status', async () => {
    const since = await newestChange(client.db(), 'markets');
    expect(since.ageSeconds).toBeGreaterThan(0);
  });

  it('lists no key as revoked that may be good again', async () => {
    const [key] = await service.keys.list();
    const keys = client
      .db(service.database.db.databaseName)
      .collection<{ _id?: string }>('api_keys');
    const revoke = (revokedAt: Date | null) =>
      keys.updateOne({ _id: key?._id }, { $set: { revokedAt } }, { writeConcern: { w: 1 } });
    await revoke(new Date());
    const listed = await service.keys.list().finally(() => revoke(null));
    expect(listed[0]).toEqual(key);
  });

  it('shows what the primary has, without memory too', async () => {
    const reader = await anotherReplica({ cacheMaxMb: 0 });
    try {
      await changePrice();
      await until(async () => (await shownPrice()) === price, 2_000);
      // More than one reply: the rest of it, which is of the past, is left unread.
      let before: number;
      do before = await idleCursors(client);
      while ((await reader.get(`/v1/markets/market/provider/${LARGE}?take=100`)).status !== 200);
      await until(async () => (await idleCursors(client)) <= before, 2_000);
      const { body } = await reader.get(path).expect(200);
      expect(body.data[0].runners[0].price).toBe(price);
    } finally {
      await reader.close();
    }
  });

  it('tells watchers all that the primary has, with a cursor that stands for nothing', async () => {
    const changes = `/v1/markets/changes?eventId=${market.eventId}`;
    await changePrice();
    await until(async () => (await shownPrice()) === price);
    let since = '';
    for (let count = 0; count < 2; count += 1) {
      const { body } = await service.get(changes + since).expect(200);
      expect(body.data).toMatchObject([{ reset: true, changed: [{ runners: [{ price }] }] }]);
      since = `&since=${body.meta.cursor}`;
    }
  });

  it('is known to a replica that starts meanwhile', async () => {
    const late = await anotherReplica();
    try {
      await until(async () => (await feed(late)).state !== 'blind');
      const { body } = await late.get(`/v1/markets/changes?eventId=${market.eventId}`).expect(200);
      expect(body.data).toMatchObject([{ reset: true, changed: [{ runners: [{ price }] }] }]);
    } finally {
      await late.close();
    }
  });

  it('counts no half of a transaction', async () => {
    const inOrder = await markets.find({ eventId: LONG }, { sort: { _id: 1 } }).toArray();
    const ids = inOrder.map(({ _id }) => String(_id));
    // Each transaction makes one more of the first half live, and one less of the last half.
    const half = LONG_MARKETS / 2;
    await markets.updateMany({ eventId: LONG }, { $set: { marketMoment: 'prelive' } });
    const lastHalf = { eventId: LONG, _id: { $gte: inOrder[half]?._id } };
    await markets.updateMany(lastHalf, { $set: { marketMoment: 'live' } });
    let isOver = false;
    const writes = changeTogether(
      (count) => ({
        [ids[count] ?? '']: { marketMoment: 'live' },
        [ids[LONG_MARKETS - count] ?? '']: { marketMoment: 'prelive' },
      }),
      () => isOver,
    );
    const live = `/v1/markets/market/provider/${LONG}?marketMoment=live`;
    try {
      for (let count = 0; count < 50; count += 1) {
        const { body } = await service.get(live).expect(200);
        expect(body.meta.itemCount).toBe(half);
      }
    } finally {
      isOver = true;
      await writes;
    }
  });

  it('tells watchers no half of a transaction', async () => {
    const [first, last] = await firstAndLast();
    let isOver = false;
    const names = (count: number) => ({
      [first]: { name: `${count}` },
      [last]: { name: `${count}` },
    });
    const writes = changeTogether(names, () => isOver);
    try {
      for (let count = 0; count < 3; count += 1) {
        const { body } = await service.get(`/v1/markets/changes?eventId=${LONG}`).expect(200);
        const { changed } = body.data[0];
        expect(changed).toHaveLength(LONG_MARKETS);
        expect(changed.at(-1).name).toBe(changed[0].name);
      }
    } finally {
      isOver = true;
      await writes;
    }
  });

  it('answers while MongoDB makes writers wait for the majority', async () => {
    const { was } = await setTargetLag(1);
    const over = new AbortController();
    const writes = Array.from({ length: 2 }, async () => {
      while (!over.signal.aborted) await write();
    });
    try {
      await until(async () => (await takes(write)) > 500, 15_000);
      const asked = [path, `/v1/markets/changes?eventId=${market.eventId}`];
      for (let count = 0; count < 20; count += 1)
        await service.get(asked[count % 2] ?? '').expect(200);
    } finally {
      over.abort();
      await Promise.all(writes);
      await setTargetLag(was);
    }
  });

  it(
    'is current again once the majority has caught up',
    async () => {
      await mongod.restart(secondary);
      await until(async () => (await feed()).state === 'current');
      expect(await lagSeconds()).toBeLessThan(0.2);
      expect(await shownPrice()).toBe(price);
    },
    START_MS,
  );

  function lateLines(): string[] {
    return service.logged.filter((line) => line.includes('The change feed is late'));
  }

  /** @returns when it was acknowledged */
  async function changePrice(): Promise<number> {
    price += 1;
    await markets.updateOne(
      { marketId: market.marketId },
      { $set: { runners: [aRunner({ price })] } },
    );
    return performance.now();
  }

  async function firstAndLast(): Promise<[string, string]> {
    const [first, last] = await Promise.all(
      ([1, -1] as const).map((_id) => markets.findOne({ eventId: LONG }, { sort: { _id } })),
    );
    return [String(first?._id), String(last?._id)];
  }

  /** Changes markets in transactions, one after the other: each sets fields by `_id`. */
  async function changeTogether(
    fields: (count: number) => Readonly<Record<string, object>>,
    isOver: () => boolean,
  ): Promise<void> {
    for (let count = 1; !isOver() && count < LONG_MARKETS / 2; count += 1) {
      await client.withSession((session) =>
        session.withTransaction(
          async () => {
            for (const [id, $set] of Object.entries(fields(count))) {
              await markets.updateOne({ _id: new ObjectId(id) }, { $set }, { session });
            }
          },
          { writeConcern: { w: 1 } },
        ),
      );
    }
  }

  function write() {
    return markets.updateOne({ eventId: LONG }, { $inc: { priceCount: 1 } });
  }

  /** How far the majority may lag before MongoDB makes writers wait. Seconds. */
  function setTargetLag(flowControlTargetLagSeconds: number) {
    const command = { setParameter: 1, flowControlTargetLagSeconds };
    return client.db('admin').command(command);
  }

  async function shownPrice(): Promise<number> {
    const { body } = await service.get(path).expect(200);
    return body.data[0].runners[0].price;
  }

  async function feed(of = service) {
    const { body } = await of.getOpen('/health/ready').expect(200);
    return body.changeFeed as { state: string; lateBecause?: string; ageSeconds: number };
  }

  const lagSeconds = () => metric(service, 'change_feed_majority_lag_seconds');

  async function hits(): Promise<number> {
    await shownPrice();
    return metric(service, 'markets_cache_hits_total');
  }
});
