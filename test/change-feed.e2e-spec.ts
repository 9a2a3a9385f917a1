import { Logger } from '@nestjs/common';
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
import {
  BSONRegExp,
  MongoClient,
  Timestamp,
  type Collection,
  type Db,
  type Document,
} from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { FailingFeed, feedOf, FRESH_MS, Recorder, type Thing } from './change-recorder.js';
import { TestMongod, testDatabaseUri } from './mongo.js';
import { onMember, setFailCommand, timesFailed, writable } from './mongo-admin.js';
import { until } from './until.js';
import { Config } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { databaseName } from '../src/database/driver-options.js';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { changeBatches } from '../src/change-feed/change-stream.js';
import type { Commit } from '../src/change-feed/change.js';

describe('ChangeFeed', () => {
  let client: MongoClient;
  let things: Collection<Thing>;
  let others: Collection<Thing>;
  let feed: ChangeFeed;
  let recorder: Recorder;

  beforeEach(async () => {
    const uri = testDatabaseUri();
    client = new MongoClient(uri);
    things = client.db(databaseName(uri)).collection('things');
    others = client.db(databaseName(uri)).collection('others');
    await things.insertOne({ _id: 'old' });
    recorder = new Recorder();
    feed = feedOf(uri);
    feed.listen('things', recorder);
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    // What was written last before it began may be told again.
    recorder.commits = [];
  });

  afterEach(async () => {
    await feed.onApplicationShutdown();
    await client.db(things.dbName).dropDatabase();
    await client.close();
  });

  /** Resolves when the feed has told a thing that is written now. */
  async function tellsOf(_id: string): Promise<void> {
    await things.insertOne({ _id });
    await until(() =>
      recorder.changes.flat().some((change) => 'id' in change && change.id === _id),
    );
  }

  it('tells what changes, in order', async () => {
    await things.insertOne({ _id: 1, value: 1 });
    await things.updateOne({ _id: 1 }, { $set: { value: 2 } });
    await others.insertOne({ _id: 1 });
    await things.replaceOne({ _id: 1 }, { value: 3 });
    await things.deleteOne({ _id: 1 });
    await until(() => recorder.commits.length === 4);
    expect(recorder.changes).toEqual([
      [{ kind: 'stored', id: 1, document: { _id: 1, value: 1 }, before: {} }],
      [{ kind: 'altered', id: 1, fields: { value: 2 } }],
      [{ kind: 'stored', id: 1, document: { _id: 1, value: 3 } }],
      [{ kind: 'deleted', id: 1 }],
    ]);
  });

  it('tells the document after an update where images are kept', async () => {
    const enabled = { changeStreamPreAndPostImages: { enabled: true } };
    await client.db(things.dbName).command({ collMod: 'things', ...enabled });
    await things.updateOne({ _id: 'old' }, { $set: { value: 2 } });
    await until(() => recorder.commits.length === 1);
    const document = { _id: 'old', value: 2 };
    expect(recorder.changes).toEqual([[{ kind: 'stored', id: 'old', document, before: {} }]]);
  });

  it('tells a transaction as one commit, even one that comes in several batches', async () => {
    const many = Array.from({ length: 2_500 }, (_, index) => ({ _id: index }));
    await client.withSession((session) =>
      session.withTransaction(async () => {
        await things.insertMany(many, { session });
      }),
    );
    await things.insertOne({ _id: 'after' });
    await until(() => recorder.commits.length >= 2);
    expect(recorder.commits.map(({ changes }) => changes.length)).toEqual([2_500, 1]);
  });

  it('begins anew after a change at which a listener fails', async () => {
    const failing = {
      committed: ({ changes }: Commit) => {
        if (changes.some((change) => 'id' in change && change.id === 'bad')) throw new Error('bad');
      },
      forgetAll: () => undefined,
    };
    feed.listen('things', failing);
    await things.insertOne({ _id: 'bad' });
    await until(() => recorder.timesForgotten > 1 && feed.ageMs < FRESH_MS);
    await tellsOf('good');
  });

  it('goes on when the database is dropped, which ends a stream', async () => {
    await client.db(things.dbName).dropDatabase();
    await things.insertOne({ _id: 'new' });
    await until(() => recorder.commits.length === 2 || feed.blindBecause !== undefined);
    expect([feed.blindBecause, recorder.timesForgotten]).toEqual([undefined, 1]);
    expect(recorder.changes).toEqual([
      [{ kind: 'collectionReplaced' }],
      [{ kind: 'stored', id: 'new', document: { _id: 'new' }, before: {} }],
    ]);
  });

  it('is waited for no longer than it goes on', async () => {
    const told = feed.waitFor(new Timestamp({ t: Math.ceil(Date.now() / 1_000) + 60, i: 1 }));
    await feed.onApplicationShutdown();
    expect(await told).toBe(false);
  });

  it('ends with the application, though it is only connecting then', async () => {
    const early = feedOf(testDatabaseUri());
    early.listen('things', recorder);
    early.onApplicationBootstrap();
    let hasEnded = false;
    void early.onApplicationShutdown().then(() => (hasEnded = true));
    await until(() => hasEnded, 5_000);
  });

  it('goes on after a transaction that the driver can not measure', async () => {
    await things.insertOne({ _id: 'odd' });
    await until(() => recorder.commits.length === 1);
    // The driver takes what has this name for a number, a date or the like, but only MongoDB makes such a document.
    const fields = [['_bsontype', 'Nope']];
    await client.withSession((session) =>
      session.withTransaction(async () => {
        await things.updateOne({ _id: 'old' }, { $set: { value: 2 } }, { session });
        const value = { $arrayToObject: [fields] };
        await things.updateOne({ _id: 'odd' }, [{ $set: { value } }], { session });
      }),
    );
    await until(() => recorder.timesForgotten > 1 && feed.ageMs < FRESH_MS);
    await tellsOf('after');
  });

  it('has told all when it says that it is fresh', async () => {
    for (let value = 1; value <= 50; value += 1) {
      await things.insertOne({ _id: value });
      const writtenAt = performance.now();
      await until(() => performance.now() - feed.ageMs >= writtenAt);
      expect(recorder.commits).toHaveLength(value);
    }
  });

  it('tells the database what was written, for reads that may be behind it', async () => {
    await things.insertOne({ _id: 1 });
    const { operationTime } = await client.db().command({ ping: 1 });
    const { readAfterTime } = feed['database'].topology;
    await until(() => readAfterTime.newest?.clusterTime.lessThan(operationTime) === false);
  });

  it.each([
    ['drop', () => things.drop()],
    ['rename away', () => things.rename('elsewhere')],
    [
      'rename over',
      async () => {
        await others.insertOne({ _id: 1 });
        await others.rename('things', { dropTarget: true });
      },
    ],
    ['drop of the database', () => client.db(things.dbName).dropDatabase()],
  ])('tells of a %s, and goes on', async (_name, happen) => {
    await happen();
    await until(() => recorder.timesForgotten > 1 || recorder.changes.flat().length > 0);
    expect([...new Set(recorder.changes.flat().map(({ kind }) => kind))]).toEqual(
      recorder.timesForgotten > 1 ? [] : ['collectionReplaced'],
    );
    recorder.commits = [];
    // A stream ends with its database, maybe only now: what is written before the next begins is forgotten with all else.
    let id = '';
    const told = () =>
      recorder.changes.find(([change]) => change && 'id' in change && change.id === id);
    for (let count = 1; told() === undefined; count++) {
      id = `new-${count}`;
      await until(() => feed.ageMs < FRESH_MS);
      const forgotten = recorder.timesForgotten;
      await things.insertOne({ _id: id });
      await until(() => told() !== undefined || recorder.timesForgotten > forgotten);
    }
    expect(told()).toEqual([{ kind: 'stored', id, document: { _id: id }, before: {} }]);
  });

  it('goes on after an event that is too large to be told', async () => {
    const half = 'x'.repeat(9 * 1024 * 1024);
    await client.db(things.dbName).command({
      collMod: 'things',
      changeStreamPreAndPostImages: { enabled: true },
    });
    await things.updateOne({ _id: 'old' }, { $set: { value: half } });
    // It begins anew with the newest write: that has to be another one by then.
    await others.insertOne({ _id: 'between' });
    await until(() => recorder.timesForgotten > 1 && feed.ageMs < FRESH_MS);
    await tellsOf('after');
  });

  it('goes on after an event that the driver can not read', async () => {
    // Other drivers write any option, and MongoDB keeps it.
    const value = Object.assign(new BSONRegExp('abc'), { options: 'g' });
    await things.insertOne({ _id: 'unreadable', value: value as never });
    // It begins anew with the newest write: that has to be another one by then.
    await others.insertOne({ _id: 'between' });
    await until(() => recorder.timesForgotten > 1 && feed.ageMs < FRESH_MS, 10_000);
    await tellsOf('after');
  });

  it('leaves neither cursor nor session open when a reader of changes leaves', async () => {
    const db = client.db(`${things.dbName}-2`);
    const mine = { 'cursor.nDocsReturned': 0, ns: { $regex: `^${db.databaseName}` } };
    const open = [
      { $currentOp: { idleCursors: true } },
      { $match: { type: 'idleCursor', ...mine } },
    ];
    const count = async () => (await client.db('admin').aggregate(open).toArray()).length;
    const sessions = jest.spyOn(client, 'startSession');
    for await (const { events } of changeBatches(db, { collections: ['things'], start: {} })) {
      expect(events).toEqual([]);
      expect(await count()).toBe(1);
      break;
    }
    expect(sessions.mock.results[0]?.value).toMatchObject({ hasEnded: true });
    sessions.mockRestore();
    await until(async () => (await count()) === 0);
  });

  it('reads at most a thousand changes at a time, since to decode them holds up everybody', async () => {
    const lengths: number[] = [];
    const db = client.db(things.dbName);
    for await (const { events } of changeBatches(db, { collections: ['things'], start: {} })) {
      if (lengths.push(events.length) === 1)
        await things.insertMany(Array.from({ length: 1_500 }, (_, _id) => ({ _id })));
      if (lengths.reduce((sum, length) => sum + length) >= 1_500) break;
    }
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1_000);
  });

  it('is not fresh, and says why, where there is no replica set', async () => {
    const standalone = await TestMongod.start({ members: 0 });
    const blind = feedOf(standalone.uri);
    try {
      blind.listen('things', recorder);
      blind.onApplicationBootstrap();
      await until(() => (blind.blindBecause ?? '').includes('replica set'));
      expect(blind.ageMs).toBe(Infinity);
    } finally {
      await blind.onApplicationShutdown();
      await standalone.stop();
    }
  });
});

it.each([
  { isWritablePrimary: true, state: 'late' },
  { isWritablePrimary: false, state: 'blind' },
])('takes the newest write of a primary alone for that of all: %j', async (reply) => {
  const feed = feedOf(testDatabaseUri());
  const { isWritablePrimary, state } = reply;
  const ts = new Timestamp({ t: 1, i: 1 });
  let askedAt = 0;
  const command = async () => {
    askedAt = performance.now();
    return { isWritablePrimary, lastWrite: { opTime: { ts } } };
  };
  await feed['askNewest']({ command } as unknown as Db);
  expect(feed.status.state).toBe(state);
  // Its answer is true of the moment when it was asked, however late it comes.
  feed.progress.reached(ts, ts);
  expect(feed.provenAt.monotonicMs).toBeLessThanOrEqual(askedAt);
});

it('takes a reply for no newer than its question, however long it was on its way', async () => {
  const postBatchResumeToken = { _data: '820000000100000001' };
  let sentAt = Infinity;
  const command = async () => {
    sentAt = performance.now();
    await delay(50);
    return { cursor: { id: 0, firstBatch: [], postBatchResumeToken } };
  };
  const client = { startSession: () => ({ endSession: async () => undefined }) };
  const batches = changeBatches({ command, client } as unknown as Db, {
    collections: [],
    start: {},
  });
  const { value } = await batches.next();
  expect(value.askedAt.monotonicMs).toBeLessThanOrEqual(sentAt);
  await batches.return(undefined);
});

it('begins with what a majority has, since newer writes may still be lost', async () => {
  const feed = feedOf(testDatabaseUri());
  const [majority, newest] = [1, 2].map((t) => new Timestamp({ t, i: 1 }));
  const lastWrite = { opTime: { ts: newest }, majorityOpTime: { ts: majority } };
  const db = { command: async () => ({ lastWrite }) } as unknown as Db;
  expect(await feed['startingPoint'](db)).toEqual({ startAtOperationTime: majority });
  expect(feed.position).toEqual(majority);
});

it('warns each time that it goes blind, and once however often it tries anew', async () => {
  const warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  try {
    const feed = feedOf(testDatabaseUri());
    jest.spyOn(feed['database'].topology, 'readable', 'get').mockReturnValue(true);
    const postBatchResumeToken = { _data: '820000000100000001' };
    const cursor = { id: 1, ns: 'odds.$cmd.aggregate', firstBatch: [], postBatchResumeToken };
    const command = async ({ getMore }: Document) => {
      if (getMore) throw new Error('lost');
      return { cursor, operationTime: new Timestamp({ t: 1, i: 1 }) };
    };
    const client = { startSession: () => ({ endSession: async () => undefined }) };
    for (let times = 1; times <= 2; times += 1) {
      const failure = await feed['follow']({ command, client } as unknown as Db).catch(
        (error: unknown) => error,
      );
      for (let tries = 0; tries < 3; tries += 1) feed['failed'](failure);
      expect(warned).toHaveBeenCalledTimes(times);
    }
  } finally {
    jest.restoreAllMocks();
  }
});

const UNKNOWN_ERROR = 8;

describe('ChangeFeed of a MongoDB that fails', () => {
  let failing: FailingFeed;
  let mongod: TestMongod;
  let feed: ChangeFeed;
  let recorder: Recorder;

  beforeAll(async () => {
    mongod = await TestMongod.start();
  });

  afterAll(() => mongod.stop());

  beforeEach(() => {
    failing = new FailingFeed(mongod);
    ({ feed, recorder } = failing);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await failing.end();
    await setFailCommand(mongod, 'off');
  });

  it('misses nothing when MongoDB is killed and comes back', async () => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    await failing.write('before');
    await until(() => recorder.commits.length === 1);
    await mongod.kill('SIGKILL');
    await until(() => feed.ageMs === Infinity);
    await mongod.restart();
    await failing.write('after');
    await until(() => recorder.commits.length === 2);
    expect(recorder.timesForgotten).toBe(1);
  });

  it('goes on where it was when its cursor is lost, as at each fail-over', async () => {
    const CURSOR_NOT_FOUND = 43;
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    const lost = { failCommands: ['getMore'], errorCode: CURSOR_NOT_FOUND };
    await setFailCommand(mongod, 'alwaysOn', lost);
    await until(() => feed.blindBecause !== undefined);
    await failing.write('meanwhile');
    await setFailCommand(mongod, 'off');
    await until(() => recorder.commits.length === 1);
    expect(recorder.timesForgotten).toBe(1);
  });

  it('is late where it is told by a secondary alone, which may be cut off from the primary', async () => {
    const config = { ...new Config(), mongodbUri: mongod.memberUri() };
    const database = new Database(config);
    const direct = new ChangeFeed(config, database);
    const administer = (command: Document) =>
      onMember(mongod, 0, (member) => member.db('admin').command(command));
    direct.listen('things', new Recorder());
    try {
      await database.connectEventually();
      direct.onApplicationBootstrap();
      await until(() => direct.ageMs < FRESH_MS);
      await administer({ replSetStepDown: 60, force: true });
      await until(() => direct.status.state === 'late' && direct.ageMs > 2 * FRESH_MS);
      expect(direct.blindBecause).toBeUndefined();
    } finally {
      await direct.onApplicationShutdown();
      await database.onApplicationShutdown();
      await administer({ replSetFreeze: 0 });
      await writable(mongod);
    }
  });

  it('begins anew where MongoDB says that its stream can not go on', async () => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    // InvalidResumeToken, ChangeStreamFatalError, ChangeStreamHistoryLost, CloseChangeStream, and an event too large.
    for (const errorCode of [260, 280, 286, 222, 50811, 10334]) {
      const { timesForgotten } = recorder;
      await setFailCommand(mongod, { times: 1 }, { failCommands: ['getMore'], errorCode });
      await until(() => recorder.timesForgotten > timesForgotten && feed.ageMs < FRESH_MS, 5_000);
    }
  });

  it.each([
    ['goes on where it was after a short while, whatever has failed', 15_000, 1],
    ['begins anew after a longer one, since MongoDB may have been restored', 21_000, 2],
  ])('%s', async (_what, silentMs, timesForgotten) => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    const data = { failCommands: ['getMore', 'aggregate'], errorCode: UNKNOWN_ERROR };
    await setFailCommand(mongod, 'alwaysOn', data);
    await until(() => feed.ageMs === Infinity);
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + silentMs);
    await setFailCommand(mongod, 'off');
    await until(() => feed.ageMs < FRESH_MS, 10_000);
    expect(recorder.timesForgotten).toBe(timesForgotten);
  });

  it('misses nothing when it is cut between two replies that a transaction comes in', async () => {
    const client = new MongoClient(failing.uri);
    const things = client.db(databaseName(failing.uri)).collection<Thing>('things');
    try {
      feed.onApplicationBootstrap();
      await until(() => feed.ageMs < FRESH_MS);
      // What a stream begins with comes, and nothing after it.
      await setFailCommand(mongod, 'alwaysOn', { failCommands: ['getMore'], errorCode: 6 });
      const many = Array.from({ length: 1_500 }, (_, index) => ({ _id: index }));
      await client.withSession((session) =>
        session.withTransaction(() => things.insertMany(many, { session })),
      );
      const before = await timesFailed(client);
      // Of these, one stream may have begun before the transaction.
      await until(async () => (await timesFailed(client)) >= before + 2);
      await setFailCommand(mongod, 'off');
      await things.insertOne({ _id: 'after' });
      await until(() => recorder.commits.at(-1)?.changes.length === 1);
      expect(recorder.commits.map(({ changes }) => changes.length)).toEqual([1_500, 1]);
    } finally {
      await client.close();
    }
  });

  it('leaves a server that does not answer, though its monitor hears it', async () => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    const hanging = { failCommands: ['getMore'], blockConnection: true, blockTimeMS: 3_000 };
    await setFailCommand(mongod, { times: 1 }, hanging);
    await until(() => feed.ageMs === Infinity, 10_000);
    await until(() => feed.ageMs < FRESH_MS);
  });

  it('grows old while MongoDB is silent, and is fresh again after', async () => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    await mongod.kill('SIGSTOP');
    await until(() => feed.ageMs > FRESH_MS);
    await mongod.kill('SIGCONT');
    await until(() => feed.ageMs < FRESH_MS);
  });
});
