import { beforeEach, expect, it, jest } from '@jest/globals';
import { MongoNetworkError, MongoServerError, Timestamp, type Db, type Document } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../test/until.js';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import type { Database } from '../../database/database.js';
import { ChangeHistory } from '../cache/change-history.js';
import { HistoryBackfill } from './history-backfill.js';
import type { WatchQuestion } from './watch-question.js';

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });

/** What MongoDB's log is read up to: beyond all that is asked for. */
const LOG_END = { _data: '82FFFFFFFF00000001' };

let feed: { ageMs: number };
let history: ChangeHistory;
let backfill: HistoryBackfill;
/** Whether MongoDB was asked while the feed could not reach it. */
let hasAskedInVain: boolean;
/** What each reading of the log reduces its events to. */
let shapes: Document[];
/** Called when a reading of the log is over. */
let read: () => void;
/** A reading of the log from before this second takes longer than anybody waits. */
let silentBefore: number;
/** How many readings of the log from before second 1,500 are cut off. */
let cuts: number;
/** What cuts them off. */
let cutBy: Error;
const never = new Promise<void>(() => undefined);

beforeEach(() => {
  read = () => undefined;
  hasAskedInVain = false;
  silentBefore = 0;
  cuts = 0;
  cutBy = new MongoNetworkError('cut');
  shapes = [];
  const own = { ageMs: 0 };
  feed = own;
  const session = { endSession: async () => read() };
  const db = {
    client: { startSession: () => session },
    command: async ({ pipeline: [first, , shape] }: Document) => {
      shapes.push(shape);
      hasAskedInVain ||= own.ageMs === Infinity;
      const { startAtOperationTime } = first.$changeStream;
      if (startAtOperationTime.lessThan(at(silentBefore))) await never;
      if (startAtOperationTime.lessThan(at(1_500)) && cuts-- > 0) throw cutBy;
      return { cursor: { id: 0, firstBatch: [], postBatchResumeToken: LOG_END } };
    },
  };
  const database = { db: db as unknown as Db, connection: { db } };
  history = new ChangeHistory();
  const listened = Object.assign(feed, { listen: () => undefined }) as unknown as ChangeFeed;
  backfill = new HistoryBackfill(database as unknown as Database, history, listened);
});

/** As the feed begins at a position. */
function begin(position: Timestamp): void {
  history.startAt(position);
  backfill.forgetAll(position);
}

it('takes nothing for known that was read for a feed which has begun anew since', async () => {
  begin(at(1_000));
  read = () => {
    history.startAt(at(2_000));
    backfill.forgetAll(undefined);
  };
  await until(() => !backfill.isFilling);
  expect(history.begin).toEqual(at(2_000));
});

it('goes on waiting for what a client missed when the feed begins anew meanwhile', async () => {
  const since = at(1_990);
  begin(at(2_000));
  const known = backfill.waitUntilKnown({ since, waitMs: 5_000 } as WatchQuestion);
  begin(at(2_001));
  // It takes a while to be current again.
  feed.ageMs = Infinity;
  setTimeout(() => (feed.ageMs = 0), 300);
  await known;
  expect(hasAskedInVain).toBe(false);
  expect(history.begin?.lessThanOrEqual(since)).toBe(true);
});

it('goes on waiting for all of the past where a client missed more than its recent part', async () => {
  const since = at(1_500);
  begin(at(2_000));
  await backfill.waitUntilKnown({ since, waitMs: 5_000 } as WatchQuestion);
  expect(history.begin?.lessThanOrEqual(since)).toBe(true);
});

it('reads the past again where that was cut off: cursors of ten minutes ago are good after a start, too', async () => {
  cuts = 2;
  begin(at(2_000));
  await until(() => !backfill.isFilling);
  expect(history.begin?.lessThanOrEqual(at(1_400))).toBe(true);
});

it('reads the past again where its login had ended just then', async () => {
  cuts = 1;
  cutBy = new MongoServerError({ message: 'Command aggregate requires authentication' });
  begin(at(2_000));
  await until(() => !backfill.isFilling);
  expect(history.begin?.lessThanOrEqual(at(1_400))).toBe(true);
});

it('keeps a client that missed some seconds waiting for these alone: half a minute may be tens of thousands of changes', async () => {
  silentBefore = 1_985;
  begin(at(2_000));
  const since = at(1_995);
  const known = backfill.waitUntilKnown({ since, waitMs: 60_000 } as WatchQuestion);
  await expect(
    Promise.race([known, delay(5_000, 'waits', { ref: false })]),
  ).resolves.toBeUndefined();
  expect(history.begin?.lessThanOrEqual(since)).toBe(true);
});

it('waits no longer than there is time for', async () => {
  begin(at(2_000));
  feed.ageMs = Infinity;
  const known = backfill.waitUntilKnown({ since: at(1_990), waitMs: 50 } as WatchQuestion);
  const isOver = await Promise.race([known.then(() => true), delay(1_000, false, { ref: false })]);
  backfill.onApplicationShutdown();
  expect(isOver).toBe(true);
});

/** Whether a request waits for more than a moment. */
function waitsLonger(): Promise<boolean> {
  const question = { since: at(1_600), waitMs: 5_000 } as WatchQuestion;
  const known = backfill.waitUntilKnown(question).then(() => false);
  return Promise.race([known, delay(100, true, { ref: false })]);
}

it('lets few requests wait for a past that takes long to read: other requests need the places in flight', async () => {
  silentBefore = 1_500;
  begin(at(2_000));
  // A start is over before long, as a rule: all wait for that.
  expect(await Promise.all(Array.from({ length: 30 }, waitsLonger))).not.toContain(false);
  await delay(2_000);
  expect(await waitsLonger()).toBe(false);
});

it('lets all wait for the past for a moment whenever the feed begins anew, however long the process has run', async () => {
  silentBefore = 1_500;
  jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000);
  begin(at(2_000));
  expect(await Promise.all(Array.from({ length: 30 }, waitsLonger))).not.toContain(false);
  jest.restoreAllMocks();
});

it('has only the ids of each market sent: ten minutes of whole markets may be gigabytes', async () => {
  begin(at(1_000));
  await until(() => !backfill.isFilling);
  const ofMarkets = shapes.map((shape) =>
    Object.keys(shape['$project']).filter((path) => path.startsWith('full')),
  );
  const ids = ['fullDocument', 'fullDocumentBeforeChange'].flatMap((image) => [
    `${image}.eventId`,
    `${image}.fixtureId`,
  ]);
  expect(ofMarkets.map((paths) => paths.toSorted())).toEqual(shapes.map(() => ids));
});
