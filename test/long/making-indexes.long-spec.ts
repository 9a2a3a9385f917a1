import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { MongoClient, type Db } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../../src/change-feed/change-feed.js';
import { missingIndexes, wantedIndexes } from '../../src/database/indexes.js';
import { collectionOptions, hasImages, initDatabase } from '../../src/database/init.js';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket, store } from '../factories.js';
import { onMember, setFailCommand } from '../mongo-admin.js';
import { TestMongod } from '../mongo.js';
import { monitored } from '../mongo-commands.js';
import { until } from '../until.js';

const START_MS = 60_000;

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

describe('making indexes', () => {
  it('goes on after an election, however often it fails in the same way', async () => {
    service = await createTestApp({ mongodbUri });
    await db.collection('markets').dropIndexes();
    const times = 2 * wantedMarketIndexes(service).length;
    await setFailCommand(mongod, { times }, { failCommands: ['createIndexes'], errorCode: 10107 });
    await service.database.init();
    await until(isIndexed);
    // Each failure is told once, however often it comes.
    const told = service.logged.filter((line) => line.includes('Could not make index'));
    const messages = told.map((line) => JSON.parse(line).msg);
    expect(messages.length).toBeGreaterThan(0);
    expect(messages).toEqual([...new Set(messages)]);
  });

  it('goes on when there is a primary again, though none was found for seconds', async () => {
    service = await createTestApp({ mongodbUri });
    await db.collection('markets').dropIndexes();
    const stepDown = { replSetStepDown: 6, force: true };
    await onMember(mongod, 0, (member) => member.db('admin').command(stepDown));
    expect(await service.database.init()).toBe(true);
    expect(await isIndexed()).toBe(true);
  }, 30_000);

  it('tells once that writes are forbidden, and goes on when they are not any more', async () => {
    service = await createTestApp({ mongodbUri });
    await store(service.database.connection, aMarket());
    await db.collection('markets').dropIndexes();
    const admin = client.db('admin');
    await admin.command({ setUserWriteBlockMode: 1, global: true });
    const done = service.database.init();
    const { logged } = service;
    const told = () => logged.filter((line) => line.includes('Could not make'));
    const all = wantedMarketIndexes(service).length;
    try {
      await delay(2_500);
      expect(told()).toHaveLength(all);
    } finally {
      await admin.command({ setUserWriteBlockMode: 1, global: false });
    }
    expect(await done).toBe(true);
    // Those that failed beside others which were allowed again count as news.
    expect(told().length).toBeLessThan(2 * all);
  });

  it('goes on once there is space on the disk of MongoDB again', async () => {
    service = await createTestApp({ mongodbUri });
    await db.collection('markets').dropIndexes();
    const times = wantedMarketIndexes(service).length;
    await setFailCommand(mongod, { times }, { failCommands: ['createIndexes'], errorCode: 14_031 });
    expect(await service.database.init()).toBe(true);
    expect(await isIndexed()).toBe(true);
  });

  it('turns on post-images once an index build of somebody else has ended', async () => {
    service = await createTestApp({ mongodbUri });
    const off = { changeStreamPreAndPostImages: { enabled: false } };
    await db.command({ collMod: 'markets', ...off });
    await setFailCommand(mongod, { times: 1 }, { failCommands: ['collMod'], errorCode: 12_587 });
    expect(await service.database.init()).toBe(true);
    expect(hasImages(await collectionOptions(db, 'markets'))).toBe(true);
  });

  it('is done for a collection that was dropped and filled again, though the first look fails', async () => {
    service = await createTestApp({ mongodbUri });
    const feed = service.app.get(ChangeFeed);
    await until(() => feed.isCurrent);
    const run = jest.spyOn(service.database, 'init');
    run.mockRejectedValueOnce(new Error('MongoDB is away'));
    await db.collection('markets').drop();
    await store(service.database.connection, aMarket());
    await until(isIndexed);
    expect(run.mock.calls.length).toBeGreaterThan(1);
  });

  it('is done once at a time, however long it takes, and again for what changed meanwhile', async () => {
    service = await createTestApp({ mongodbUri });
    const { connection } = service.database;
    const feed = service.app.get(ChangeFeed);
    await until(() => feed.isCurrent);
    const done = new EventEmitter();
    const run = jest.spyOn(service.database, 'init');
    run.mockReturnValueOnce(once(done, 'done').then(() => true));
    for (let drops = 0; drops < 2; drops += 1) {
      await db.collection('markets').drop();
      await store(connection, aMarket());
      await until(() => run.mock.calls.length === 1);
    }
    // It looks once a second.
    await delay(2_500);
    expect(run).toHaveBeenCalledTimes(1);
    done.emit('done');
    await until(isIndexed);
  });

  it('is done for a collection that was dropped, though it is filled again only after a look', async () => {
    service = await createTestApp({ mongodbUri: monitored(mongodbUri) });
    const feed = service.app.get(ChangeFeed);
    await until(() => feed.isCurrent);
    const { connection } = service.database;
    let looks = 0;
    connection.getClient().on('commandSucceeded', ({ commandName }) => {
      if (commandName === 'listCollections') looks += 1;
    });
    await db.collection('markets').drop();
    await until(() => looks > 0);
    await store(connection, aMarket());
    await until(isIndexed, 5_000);
  });
});

it('does not take an index for made that is only being built', async () => {
  service = await createTestApp({ mongodbUri, dbInit: false });
  const { connection } = service.database;
  const { provider, eventId, marketId } = aMarket();
  const markets = db.collection('markets');
  await markets.insertMany([1, 2].map(() => ({ provider, eventId, marketId })));
  const admin = client.db('admin');
  const holdBuilds = (mode: string) =>
    admin.command({ configureFailPoint: 'hangAfterStartingIndexBuild', mode });
  const builds = [{ $currentOp: {} }, { $match: { 'command.createIndexes': 'markets' } }];
  const made = [];
  await holdBuilds('alwaysOn');
  try {
    for (const count of [1, 2]) {
      made.push(initDatabase(connection));
      await until(async () => (await admin.aggregate(builds).toArray()).length === count);
    }
    expect(await missingIndexes(connection)).toContain(
      'The index markets.market_identity is missing: "db init" makes it',
    );
  } finally {
    await holdBuilds('off');
  }
  for (const items of await Promise.all(made)) {
    const identity = items.find(({ what }) => what === 'index markets.market_identity');
    expect(identity).toMatchObject({ ok: false, reason: expect.stringContaining('E11000') });
  }
});

function wantedMarketIndexes({ database }: TestApp) {
  return wantedIndexes(database.connection).filter(({ collection }) => collection === 'markets');
}

async function isIndexed(): Promise<boolean> {
  if (!service) return false;
  const wanted = wantedMarketIndexes(service).length;
  return (await db.collection('markets').indexes()).length === wanted + 1;
}
