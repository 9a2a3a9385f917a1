import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Binary, Long, MongoClient, MongoServerError, type Db } from 'mongodb';
import { createConnection, type Connection } from 'mongoose';
import { randomUUID } from 'node:crypto';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { missingIndexes, wantedIndexes } from '../src/database/indexes.js';
import { collectionOptions, initDatabase } from '../src/database/init.js';
import { idText } from '../src/markets/id-text.js';
import { FILTERED_FIELDS, Market, MarketSchema } from '../src/markets/market.schema.js';
import { MarketCache } from '../src/markets/cache/market-cache.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, aRunner, store } from './factories.js';
import { MARKET_INDEXES } from './market-indexes.js';
import { setFailCommand, timesFailed } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { commandsDuring, monitored, readsDuring } from './mongo-commands.js';
import { runHere } from './run-here.js';
import { until } from './until.js';

const START_MS = 60_000;

/** Compares without regard to case. */
const OF_OPERATOR = { locale: 'en', strength: 2 };

let mongod: TestMongod;
let client: MongoClient;
let mongodbUri: string;
let db: Db;
let service: TestApp | undefined;

beforeAll(async () => {
  mongod = await TestMongod.start();
  client = await MongoClient.connect(mongod.uri);
}, START_MS);

beforeEach(() => {
  const url = new URL(mongod.uri);
  url.pathname = `/${randomUUID()}`;
  mongodbUri = url.href;
  db = client.db(url.pathname.slice(1));
});

afterEach(async () => {
  await service?.close();
  service = undefined;
});

afterAll(async () => {
  await client?.close();
  await mongod?.stop();
}, START_MS);

describe('collections with a collation of their own', () => {
  beforeEach(async () => {
    for (const name of ['markets', 'api_keys']) {
      await db.createCollection(name, { collation: OF_OPERATOR });
    }
    // It has the collection's collation, and the name of one that the service needs.
    await db.collection('markets').createIndex({ eventId: 1, _id: 1 }, { name: 'eventId_page' });
  });

  it('compare ids exactly, in MongoDB and in memory, over indexes made for that', async () => {
    service = await createTestApp({ mongodbUri });
    const path = `/v1/markets/market/provider/`;
    const lower = aMarket({ eventId: 'e1' });
    const upper = aMarket({ eventId: 'E1' });
    await store(service.database.connection, lower, upper);
    const marketIds = async (eventId: string) =>
      (await service?.get(path + eventId))?.body.data.map(
        (market: { marketId: string }) => market.marketId,
      );
    for (let look = 0; look < 4; look += 1) {
      expect(await marketIds('e1')).toEqual([lower.marketId]);
      expect(await marketIds('E1')).toEqual([upper.marketId]);
    }
    await db
      .collection('markets')
      .updateOne({ marketId: lower.marketId }, { $set: { runners: [aRunner({ price: 9 })] } });
    await until(async () => {
      const { body } = (await service?.get(`${path}e1`)) ?? {};
      return body.data[0].runners[0].price === 9;
    }, 2_000);

    const { stages } = await db
      .collection('markets')
      .find({ eventId: 'e1' }, { collation: { locale: 'simple' } })
      .sort({ _id: 1 })
      .explain('queryPlanner')
      .then((plan) => ({ stages: JSON.stringify(plan) }));
    expect(stages).toContain('IXSCAN');
    const { stdout } = await runHere(['db', 'status', '--json'], {
      env: { MONGODB_URI: mongodbUri },
    });
    const { indexes } = JSON.parse(stdout) as { indexes: { present: boolean }[] };
    expect(indexes.map(({ present }) => present)).toEqual(indexes.map(() => true));
  });

  it('end no key but the one that is named', async () => {
    service = await createTestApp({ mongodbUri });
    const keys = service.keys;
    const { id } = await keys.create({ name: 'mine' });
    const swapped = id.replace(/[a-z]/gi, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    );
    await expect(keys.revoke(swapped)).rejects.toThrow('There is no key');
    expect(
      await db.collection<{ _id: string }>('api_keys').findOne({ _id: id }),
    ).not.toHaveProperty('revokedAt');
  });

  it('change no order of keys', async () => {
    service = await createTestApp({ mongodbUri });
    const createdAt = new Date('2100-01-01');
    const records = ['a', 'B'].map((_id) => ({ _id, name: _id, hash: '', createdAt }));
    await db.collection<{ _id: string }>('api_keys').insertMany(records);
    const keys = await service.keys.list();
    expect(keys.slice(-2).map(({ _id }) => _id)).toEqual(['B', 'a']);
  });
});

describe('defaults set by an operator', () => {
  it('change no answer', async () => {
    const defaults = { setDefaultRWConcern: 1, defaultReadConcern: { level: 'majority' } };
    await client.db('admin').command(defaults);
    service = await createTestApp({ mongodbUri: monitored(mongodbUri), cacheMaxMb: 0 });
    const reads = await readsDuring(
      service.database.connection,
      () => service?.get('/v1/markets/market/fixture/any').expect(200) ?? Promise.resolve(),
    );
    expect(reads.length).toBeGreaterThan(0);
    for (const { readConcern, collation } of reads) {
      expect(['local', 'snapshot']).toContain(readConcern?.level);
      expect(collation).toEqual({ locale: 'simple' });
    }
  });
});

describe('a connection string that names how reads and writes go', () => {
  it('changes no answer, and the change feed follows all the same', async () => {
    const url = new URL(mongodbUri);
    const reads = {
      readPreference: 'secondary',
      maxStalenessSeconds: '90',
      readConcernLevel: 'majority',
    };
    for (const [name, value] of Object.entries({ ...reads, w: '1', retryReads: 'false' })) {
      url.searchParams.set(name, value);
    }
    url.searchParams.set('readPreferenceTags', 'dc:east');
    service = await createTestApp({ mongodbUri: url.href });
    await service.get('/v1/markets/market/fixture/any').expect(200);
    await until(async () => {
      const { body } = (await service?.getOpen('/health/ready')) ?? {};
      return body.changeFeed.state === 'current';
    }, 5_000);
  });
});

it.each([
  ['refuses to make it with images', 20],
  ['has an election just then', 189],
])('the collection is made, and with images, though MongoDB %s', async (_what, errorCode) => {
  await setFailCommand(mongod, { times: 1 }, { failCommands: ['create'], errorCode });
  service = await createTestApp({ mongodbUri, dbInit: false });
  await service.database.init();
  expect(await collectionOptions(db, 'markets')).toEqual({
    changeStreamPreAndPostImages: { enabled: true },
  });
});

it.each(['w=1&journal=false', 'w=2&wtimeoutMS=1', 'w=nosuchtag&readConcernLevel=nosuchlevel'])(
  'keys are written to a majority, and read, though the connection string says %s',
  async (concerns) => {
    service = await createTestApp({ mongodbUri: monitored(`${mongodbUri}&${concerns}`) });
    const { database, keys } = service;
    const commands = await commandsDuring(database.connection, async () => {
      const { id } = await keys.create({ name: 'a' });
      await keys.revoke((await keys.rotate(id, { overlapMs: 0 })).id);
      expect(await keys.list()).toHaveLength(3);
    });
    const writes = commands.filter(({ commandName }) => /insert|update/.test(commandName));
    expect(writes).toHaveLength(4);
    for (const { command } of writes) expect(command['writeConcern']).toEqual({ w: 'majority' });
  },
);

describe('a connection string that names how documents are read', () => {
  it('changes neither answers nor keys nor the change feed', async () => {
    const url = new URL(mongodbUri);
    const isDefault = { promoteBuffers: false, promoteLongs: true, promoteValues: true };
    const decoding = { ...isDefault, raw: false, useBigInt64: false, checkKeys: false };
    for (const [name, value] of Object.entries(decoding)) url.searchParams.set(name, `${!value}`);
    service = await createTestApp({ mongodbUri: url.href });
    const [_id, price] = [new Binary(Buffer.from('id')), Long.fromNumber(2)];
    await db
      .collection('markets')
      .insertOne({ _id, fixtureId: 'f', runners: [{ price }] } as never);
    const { body } = await service.get('/v1/markets/market/fixture/f').expect(200);
    expect(body.data).toEqual([{ _id: idText(_id), fixtureId: 'f', runners: [{ price: 2 }] }]);
    const { app, keys } = service;
    await until(() => app.get(ChangeFeed).isCurrent, 5_000);
    const { id } = await keys.create({ name: 'limited' });
    const limited = { $set: { rateLimit: Long.fromNumber(5) } };
    await db.collection('api_keys').updateOne({ _id: id as never }, limited);
    expect(await keys.rotate(id, { overlapMs: 0 })).toMatchObject({ record: { rateLimit: 5 } });
  });
});

describe('a connection string that names no database', () => {
  it('is of the default one: what others change there shows, though memory answers', async () => {
    const url = new URL(mongod.uri);
    url.pathname = '/';
    service = await createTestApp({ mongodbUri: url.href });
    const cache = service.app.get(MarketCache);
    const markets = client.db('markets-odds').collection('markets');
    const itemCount = async () => {
      const { body } = (await service?.get('/v1/markets/market/fixture/f')) ?? {};
      return body.meta?.itemCount;
    };
    for (let stored = 1; stored <= 2; stored += 1) {
      await markets.insertOne(aMarket({ fixtureId: 'f' }) as never);
      await until(async () => (await itemCount()) === stored && cache.count === 1, 5_000);
    }
  });
});

describe('making indexes', () => {
  it('does not take a hidden one for its own', async () => {
    service = await createTestApp({ mongodbUri });
    const markets = db.collection('markets');
    const [index] = (await markets.indexes()).filter(({ name }) => name !== '_id_');
    await db.command({ collMod: 'markets', index: { name: index?.name, hidden: true } });

    const items = await initDatabase(service.database.connection);
    expect(items.filter(({ ok }) => !ok).map(({ what }) => what)).toEqual([
      `index markets.${index?.name}`,
    ]);
  });

  it.each([
    [
      'holds a part of the markets',
      ['_id', ...FILTERED_FIELDS],
      { partialFilterExpression: { marketStatus: 'OPEN' } },
    ],
    ['leaves out those without the fields', ['_id', ...FILTERED_FIELDS], { sparse: true }],
    ['does not give their order', [...FILTERED_FIELDS, '_id'], {}],
  ])('does not take one for its own that %s', async (_what, fields, options) => {
    service = await createTestApp({ mongodbUri, dbInit: false });
    const markets = db.collection('markets');
    const keys = Object.fromEntries(['fixtureId', ...fields].map((field) => [field, 1 as const]));
    await markets.createIndex(keys, { name: 'of another', ...options });
    await initDatabase(service.database.connection);
    expect((await markets.indexes()).map(({ name }) => name)).toEqual([
      '_id_',
      'of another',
      ...MARKET_INDEXES,
    ]);
  });

  it('does not wait for all members of the set: one of them may be away for long', async () => {
    service = await createTestApp({ mongodbUri: monitored(mongodbUri) });
    await db.collection('markets').dropIndexes();
    const { database } = service;
    const commands = await commandsDuring(database.connection, () => database.init());
    const builds = commands.filter(({ commandName }) => commandName === 'createIndexes');
    expect(builds).toHaveLength(wantedMarketIndexes(service).length);
    for (const { command } of builds) expect(command).toMatchObject({ commitQuorum: 'majority' });
  });
});

it('makes collections beside another replica that does the same', async () => {
  service = await createTestApp({ mongodbUri, dbInit: false });
  const { connection } = service.database;
  const made = await Promise.all(Array.from({ length: 4 }, () => initDatabase(connection)));
  const ofCollections = made.flat().filter(({ what }) => what.startsWith('collection'));
  expect(ofCollections.filter(({ ok }) => !ok)).toEqual([]);
});

it('makes no collection anew that is dropped while its indexes are made', async () => {
  service = await createTestApp({ mongodbUri });
  const { connection } = service.database;
  const slow = { failCommands: ['listIndexes'], blockConnection: true, blockTimeMS: 300 };
  const before = await timesFailed(client);
  await setFailCommand(mongod, { times: 1 }, slow);
  const making = initDatabase(connection);
  await until(async () => (await timesFailed(client)) > before);
  await db.collection('markets').drop();
  const items = await making;
  expect(items.find(({ what }) => what === 'index markets.market_identity')?.ok).toBe(false);
  expect(await db.listCollections({ name: 'markets' }).toArray()).toEqual([]);
});

function wantedMarketIndexes({ database }: TestApp) {
  return wantedIndexes(database.connection).filter(({ collection }) => collection === 'markets');
}

it('makes no collection without images because of an election: they may not be turned on later', async () => {
  const asked: unknown[] = [];
  const createCollection = async (name: string, options?: object) => {
    asked.push([name, options !== undefined]);
    throw new MongoServerError({ message: 'stepped down', code: 189 });
  };
  const unmade = {
    listCollections: () => ({ toArray: async () => [] }),
    command: async () => ({ setName: 'rs' }),
    createCollection,
  };
  const connection = { db: unmade, models: {} } as unknown as Connection;
  const [made] = await initDatabase(connection);
  expect([asked[0], made?.isPassing]).toEqual([['markets', true], true]);
  expect(asked.filter((each) => String(each) === 'markets,false')).toEqual([]);
});

it('warns of no index that is hidden from its user', async () => {
  const refusal = new MongoServerError({ message: 'not authorized', code: 13 });
  const connection = createConnection();
  connection.model(Market.name, MarketSchema);
  Object.assign(connection, {
    db: { runCursorCommand: () => ({ toArray: () => Promise.reject(refusal) }) },
  });
  expect(await missingIndexes(connection)).toEqual([]);
});
