import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Binary, Long, MongoClient, ObjectId, Timestamp, type Document } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../src/api-keys/key-form.js';
import { DRIVER_OPTIONS } from '../../src/database/driver-options.js';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket, aRunner, keyRecord, store } from '../factories.js';
import { onEachMember, onMember, primaryOf, setFailCommand, writable } from '../mongo-admin.js';
import { TestMongod } from '../mongo.js';
import { until } from '../until.js';

const START_MS = 60_000;

/** Everything that the service sends, its monitors among them. */
const ALL_COMMANDS = ['find', 'aggregate', 'getMore', 'killCursors', 'ping', 'hello', 'isMaster'];
const READS = ['find', 'aggregate'];

const OLD = 1.11;
const NEW = 2.22;

let mongod: TestMongod;
let primary: number;
let writer: MongoClient;
let service: TestApp;

const secondaries = () => [...mongod.pids.keys()].filter((index) => index !== primary);

/** Secondaries take writes, but don't apply them. */
function setLag(mode: 'alwaysOn' | 'off', indexes: readonly number[]): Promise<unknown> {
  const command = { configureFailPoint: 'rsSyncApplyStop', mode };
  return Promise.all(
    indexes.map((index) =>
      onMember(mongod, index, (client) => client.db('admin').command(command)),
    ),
  );
}

/** The primary cuts the connections of the service alone. */
async function setCut(mode: Document | string, failCommands: readonly string[]): Promise<void> {
  const data = { failCommands, closeConnection: true, appName: 'markets-odds-service' };
  const command = { configureFailPoint: 'failCommand', mode, ...(mode !== 'off' && { data }) };
  await onMember(mongod, primary, (client) => client.db('admin').command(command));
}

const freeze = (client: MongoClient) => client.db('admin').command({ replSetFreeze: 60 });
const unfreeze = (client: MongoClient) => client.db('admin').command({ replSetFreeze: 0 });
const stepDown = (client: MongoClient) =>
  client.db('admin').command({ replSetStepDown: 60, force: true });

/** As a new primary does by its first write: the cluster time is now, and nobody has the write yet. */
async function tellNewTime(client: MongoClient): Promise<void> {
  const clusterTime = new Timestamp({ t: Math.floor(Date.now() / 1_000), i: 1 });
  await client.withSession(async (session) => {
    const signature = { hash: new Binary(new Uint8Array(20)), keyId: Long.ZERO };
    session.advanceClusterTime({ clusterTime, signature });
    await client.db('admin').command({ ping: 1 }, { session });
  });
}

interface Stored {
  readonly path: string;
  /** Gives the market its new price, and revokes the key; resolves when the primary has acknowledged both. */
  change(): Promise<void>;
  /** A key that is revoked by the change. */
  readonly key: string;
}

async function storeServed(): Promise<Stored> {
  const stored = await storeSome();
  expect(await statusWith(stored.key, stored.path)).toBe(200);
  expect(await priceOf(stored.path)).toBe(OLD);
  return stored;
}

async function storeSome(): Promise<Stored> {
  const db = writer.db();
  const market = aMarket({ runners: [aRunner({ price: OLD })] });
  const key = generateKey();
  const keys = db.collection<{ _id: string }>('api_keys');
  const record = keyRecord(key);
  const everywhere = { writeConcern: { w: 3 } };
  await db.collection('markets').insertOne({ ...market, _id: new ObjectId() }, everywhere);
  await keys.insertOne(record, everywhere);
  return {
    path: `/v1/markets/market/fixture/${market.fixtureId}`,
    key,
    change: async () => {
      const { marketId } = market;
      const atOnce = { writeConcern: { w: 1 } };
      const price = { $set: { 'runners.0.price': NEW } };
      await db.collection('markets').updateOne({ marketId }, price, atOnce);
      await keys.updateOne({ _id: record._id }, { $set: { revokedAt: new Date() } }, atOnce);
    },
  };
}

/** What the service tells: a price, or a status that is not 200. */
async function priceOf(path: string): Promise<unknown> {
  const { status, body } = await service.get(path);
  return status === 200 ? body.data[0].runners[0].price : status;
}

async function statusWith(key: string, path: string): Promise<number> {
  return (await service.getOpen(path).set('X-API-Key', key)).status;
}

/** Looks again and again, for a second or so. */
async function lookFor({ key, path }: Stored) {
  const prices: unknown[] = [];
  const statuses = new Set<number>();
  for (let look = 0; look < 20; look += 1) {
    prices.push(await priceOf(path));
    statuses.add(await statusWith(key, path));
    await delay(50);
  }
  return { prices, statuses };
}

beforeAll(async () => {
  mongod = await TestMongod.start({ members: 3 });
  writer = await MongoClient.connect(mongod.uri);
}, START_MS);

beforeEach(async () => {
  primary = await primaryOf(mongod);
  service = await createTestApp({ mongodbUri: mongod.uri, cacheMaxMb: 0, logLevel: 'fatal' });
}, START_MS);

afterEach(async () => {
  await setFailCommand(mongod, 'off', {}, '');
  await setLag('off', [...mongod.pids.keys()]);
  await service?.close();
}, START_MS);

afterAll(async () => {
  await writer?.close();
  await mongod?.stop();
}, START_MS);

it(
  'indexes are made while a member is away',
  async () => {
    const [away = 0] = secondaries();
    await mongod.kill('SIGKILL', away);
    const markets = writer.db().collection('markets');
    // MongoDB asks no member for the index of an empty collection.
    await store(service.database.connection, aMarket());
    await markets.dropIndexes();
    const { database } = service;
    expect(await Promise.race([database.init(), delay(20_000, 'late', { ref: false })])).toBe(true);
    await mongod.restart(away);
  },
  START_MS,
);

describe('secondaries that lag', () => {
  it(
    'answer nothing old where the primary cuts a connection',
    async () => {
      const stored = await storeServed();
      await setLag('alwaysOn', secondaries());
      await stored.change();
      await delay(2_000);

      const prices = new Set<unknown>();
      const statuses = new Set<number>();
      for (let cut = 0; cut < 4; cut += 1) {
        await setCut({ times: 1 }, READS);
        prices.add(await priceOf(stored.path));
        await setCut({ times: 1 }, READS);
        statuses.add(await statusWith(stored.key, stored.path));
      }
      expect(prices).not.toContain(OLD);
      expect(statuses).not.toContain(200);
      await setLag('off', secondaries());
      await until(async () => (await priceOf(stored.path)) === NEW);
    },
    START_MS,
  );

  it(
    'answer nothing old where the service loses the primary; those that do not lag answer',
    async () => {
      const stored = await storeServed();
      const [lagging = 0] = secondaries();
      await setLag('alwaysOn', [lagging]);
      await setCut('alwaysOn', ALL_COMMANDS);
      await stored.change();
      await delay(2_000);

      const { prices, statuses } = await lookFor(stored);
      expect(prices).not.toContain(OLD);
      expect(prices.filter((price) => price === NEW).length).toBeGreaterThan(prices.length / 2);
      expect(statuses).not.toContain(200);
      await service.getOpen('/health/ready').expect(200);

      const { key } = service;
      await service.close();
      // One that has never seen the primary.
      service = await createTestApp(
        { mongodbUri: mongod.uri, cacheMaxMb: 0, dbInit: false },
        { key },
      );
      const first = new Set<unknown>();
      await until(async () => first.add(await priceOf(stored.path)).has(NEW), 5_000);
      expect(first).not.toContain(OLD);
    },
    START_MS,
  );

  it(
    'answer nothing old where no member knows a primary; those that do not lag answer',
    async () => {
      const stored = await storeServed();
      const [lagging = 0] = secondaries();
      for (const index of secondaries()) await onMember(mongod, index, freeze);
      await setLag('alwaysOn', [lagging]);
      await stored.change();
      await onMember(mongod, primary, stepDown);
      await delay(2_000);

      const { prices, statuses } = await lookFor(stored);
      expect(prices).not.toContain(OLD);
      expect(prices.filter((price) => price === NEW).length).toBeGreaterThan(prices.length / 2);
      expect(statuses).not.toContain(200);

      await setLag('off', [lagging]);
      for (const index of secondaries()) await onMember(mongod, index, unfreeze);
      await writable(mongod);
    },
    START_MS,
  );

  it(
    'make for 503, when no other can be reached',
    async () => {
      const stored = await storeServed();
      await setLag('alwaysOn', secondaries());
      await stored.change();
      await delay(2_000);
      await stored.change();
      await setCut('alwaysOn', ALL_COMMANDS);
      await delay(1_000);

      await service.get(stored.path).expect(503);
      expect(await statusWith(stored.key, stored.path)).toBe(503);
      await service.getOpen('/health/ready').expect(503);
    },
    START_MS,
  );

  it(
    'answer after a quiet time, though a new time is heard before a new primary is known',
    async () => {
      const stored = await storeServed();
      for (const index of secondaries()) await onMember(mongod, index, freeze);
      await onMember(mongod, primary, stepDown);
      await delay(3_000);
      expect(await priceOf(stored.path)).toBe(OLD);

      await onEachMember(mongod, tellNewTime);
      const endsAt = performance.now() + 2 * DRIVER_OPTIONS.heartbeatFrequencyMS;
      const told = new Set<unknown>();
      while (performance.now() < endsAt) told.add(await priceOf(stored.path));
      expect([...told]).toEqual([OLD]);

      for (const index of secondaries()) await onMember(mongod, index, unfreeze);
      await writable(mongod);
    },
    START_MS,
  );

  it(
    'answer nothing old where less than half of the members are left',
    async () => {
      const stored = await storeServed();
      const [left = 0, other = 0] = secondaries();
      await mongod.kill('SIGKILL', left);
      await stored.change();
      await writable(mongod);
      for (const index of [primary, other]) await mongod.kill('SIGKILL', index);
      await mongod.restart(left);
      await delay(2_000);

      const { prices, statuses } = await lookFor(stored);
      expect([...new Set(prices)]).toEqual([503]);
      expect([...statuses]).toEqual([503]);
      await service.getOpen('/health/ready').expect(503);

      for (const index of [primary, other]) await mongod.restart(index);
      await until(async () => (await priceOf(stored.path)) === NEW);
      await writable(mongod);
    },
    START_MS,
  );
});
