import { expect, it, jest } from '@jest/globals';
import { Binary, Long, MongoClient, Timestamp, type Document } from 'mongodb';
import { setImmediate } from 'node:timers/promises';
import { testDatabaseUri } from './mongo.js';
import type { Database } from '../src/database/database.js';
import { ReadAfterTime } from '../src/database/read-after-time.js';
import type { ReadAttempt } from '../src/database/read-attempt.js';
import { StoredPages } from '../src/markets/stored-pages.js';

/** Tells of a write, as an answer of MongoDB does. */
function hear(readAfterTime: ReadAfterTime, i: number): void {
  const signature = { hash: new Binary(Buffer.alloc(20)), keyId: Long.ONE };
  readAfterTime.advance({ clusterTime: new Timestamp({ t: 1_000, i }), signature });
}

const LOOKUP = { match: { $match: {} }, query: { page: 1, take: 10 } };

it('asks a secondary for no snapshot: it may have writes that it does not know to be a majority’s', async () => {
  const topology = { hasSnapshots: true, readAfterTime: new ReadAfterTime() };
  const pages = new StoredPages({ topology } as unknown as Database);
  const asked: Document[] = [];
  const attempt = {
    isOfPrimary: false,
    rowsOfOneState: async (command: Document) => {
      asked.push(command);
      return [];
    },
    command: async (command: Document) => {
      asked.push(command);
      return { cursor: {} };
    },
    restOf: async () => [],
  } as unknown as ReadAttempt;
  await pages.read([LOOKUP], attempt);
  expect(asked).toEqual([expect.not.objectContaining({ readConcern: { level: 'snapshot' } })]);
});

it('lets a snapshot go that is older than what was known to be written, and reads the newest state', async () => {
  const readAfterTime = new ReadAfterTime();
  hear(readAfterTime, 2);
  const topology = { hasSnapshots: true, readAfterTime };
  const pages = new StoredPages({ topology } as unknown as Database);
  const cursor = { id: 7, atClusterTime: new Timestamp({ t: 1_000, i: 1 }) };
  const killed: unknown[] = [];
  const command = jest.fn(async () => ({ cursor }));
  const attempt = {
    isOfPrimary: true,
    command,
    restOf: async () => [{ _id: 'old' }, { _id: [0], itemCount: 1 }],
    killCursor: (each: unknown) => killed.push(each),
    rowsOfOneState: async () => [{ _id: 'new' }, { _id: [0], itemCount: 1 }],
  } as unknown as ReadAttempt;
  expect(await pages.read([LOOKUP], attempt)).toEqual([
    { markets: [{ _id: 'new' }], itemCount: 1 },
  ]);
  expect(killed).toEqual([cursor]);
  // A majority that lags will not have caught up at once.
  await pages.read([LOOKUP], attempt);
  expect(command).toHaveBeenCalledTimes(1);
});

it.each([
  [149, true],
  [150, false],
])('takes a snapshot without a write that was heard of %i ms before: %s', async (ms, isTaken) => {
  jest.useFakeTimers();
  try {
    const readAfterTime = new ReadAfterTime();
    hear(readAfterTime, 1);
    jest.advanceTimersByTime(1_400);
    hear(readAfterTime, 2);
    jest.advanceTimersByTime(ms);
    const topology = { hasSnapshots: true, readAfterTime };
    const pages = new StoredPages({ topology } as unknown as Database);
    const readAnew = jest.fn(async () => []);
    const attempt = {
      isOfPrimary: true,
      command: async () => ({ cursor: { atClusterTime: new Timestamp({ t: 1_000, i: 1 }) } }),
      restOf: async () => [],
      killCursor: () => undefined,
      rowsOfOneState: readAnew,
    } as unknown as ReadAttempt;
    await pages.read([LOOKUP], attempt);
    expect(readAnew).toHaveBeenCalledTimes(isTaken ? 0 : 1);
  } finally {
    jest.useRealTimers();
  }
});

it('sees in a pass that one market took the place of another, though neither is on the page', async () => {
  const client = await MongoClient.connect(testDatabaseUri());
  try {
    const db = client.db();
    const markets = db.collection<{ _id: number }>('markets');
    await markets.insertMany([{ _id: 1 }, { _id: 2 }]);
    const pages = new StoredPages({ topology: {} } as unknown as Database);
    const attempt = {
      rowsOfOneState: async (command: Document) => {
        const pass = async () => (await db.command(command))['cursor'].firstBatch;
        const before = await pass();
        await markets.deleteOne({ _id: 2 });
        await markets.insertOne({ _id: 3 });
        expect(await pass()).not.toEqual(before);
        return before;
      },
    } as unknown as ReadAttempt;
    const lookup = { ...LOOKUP, query: { page: 1, take: 1 } };
    const [page] = await pages.read([lookup], attempt);
    expect(page).toEqual({ markets: [{ _id: 1 }], itemCount: 2 });
  } finally {
    await client.close();
  }
});

it('reads one page after the other where no snapshot is read: a transaction takes no two commands at once', async () => {
  const pages = new StoredPages({ topology: {} } as unknown as Database);
  let underWay = 0;
  const together: number[] = [];
  const rowsOfOneState = async () => {
    together.push((underWay += 1));
    await setImmediate();
    underWay -= 1;
    return [];
  };
  await pages.read([LOOKUP, LOOKUP, LOOKUP], { rowsOfOneState } as unknown as ReadAttempt);
  expect(together).toEqual([1, 1, 1]);
});

it('has the pages of several look-ups in one reply, so that they need no slot of long reads', async () => {
  const topology = { hasSnapshots: true, readAfterTime: new ReadAfterTime() };
  const pages = new StoredPages({ topology } as unknown as Database);
  const command = jest.fn(async (_asked: Document) => ({ cursor: {} }));
  const attempt = { isOfPrimary: true, command, restOf: async () => [] };
  await pages.read([LOOKUP, LOOKUP, LOOKUP], attempt as unknown as ReadAttempt);
  // A hundred markets and a total of each.
  expect(command.mock.calls[0]?.[0]['cursor'].batchSize).toBeGreaterThan(3 * 101);
});
