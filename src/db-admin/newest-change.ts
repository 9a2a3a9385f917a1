import type { Db, Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { changeBatches, type Batch } from '../change-feed/change-stream.js';
import { changeOf } from '../change-feed/change.js';
import { clusterTimeOf, secondsBefore } from '../change-feed/cluster-time.js';
import { hasCode } from '../database/mongo-errors.js';

/** The newest change of a collection, as far as the oplog tells. */
export interface NewestInOplog {
  /** When it was made, by MongoDB's clock; null if none was found. */
  readonly at: string | null;
  /** By the clock of this machine. */
  readonly ageSeconds: number | null;
  /**
   * How far back from the newest entry of the oplog was looked: as far as was needed, as the oplog reaches, or as
   * time allowed.
   */
  readonly searchedSeconds: number;
}

/** How far back each search reaches, in seconds: short ones come first, so that little is read where much changes. */
const WINDOWS = [1, 10, 100, 1_000, 10_000, 100_000];

/** For the whole search, in milliseconds. */
const SEARCH_MS = 3_000;

/** ChangeStreamHistoryLost, CappedPositionLost. */
const BEFORE_OPLOG = [286, 136];

/**
 * Looks for the newest change in the oplog, by change streams that begin in the past: no collection is read and
 * no index on a time is needed.
 * @throws MongoServerError where there are no change streams, with the reason
 */
export async function newestChange(db: Db, collection: string): Promise<NewestInOplog> {
  // Streams tell only what a majority has. A mongos lacks the first of these two times, a standalone server both.
  const { lastWrite, operationTime } = await db.command({ hello: 1 });
  const upTo = lastWrite?.majorityOpTime?.ts ?? operationTime;
  // An oplog can be long. A search that is abandoned ends with the connection.
  const outOfTime = delay(SEARCH_MS, 'unknown' as const, { ref: false });
  let searchedSeconds = 0;
  for (const seconds of WINDOWS) {
    const from = upTo && { startAtOperationTime: secondsBefore(upTo, seconds) };
    // Without the documents, which MongoDB would have to fetch.
    const options = { collections: [collection], start: { ...from, fullDocument: 'default' } };
    const batches = changeBatches(db, options);
    const found = await Promise.race([newestOf(batches, collection, upTo), outOfTime]);
    if (found === 'unknown') break;
    searchedSeconds = seconds;
    if (found === 'none') continue;
    const ageSeconds = Math.max(0, Math.round((Date.now() - found.getTime()) / 1_000));
    return { at: found.toISOString(), ageSeconds, searchedSeconds };
  }
  return { at: null, ageSeconds: null, searchedSeconds };
}

async function newestOf(
  batches: AsyncIterable<Batch>,
  collection: string,
  upTo: Timestamp | undefined,
): Promise<Date | 'none' | 'unknown'> {
  let newest: Date | 'none' = 'none';
  try {
    for await (const { events, resumeToken } of batches) {
      const last = events.findLast((event) => changeOf(event, collection));
      if (last) newest = last.wallTime;
      if (!upTo || !clusterTimeOf(resumeToken).lessThan(upTo)) break;
    }
    return newest;
  } catch (error) {
    if (hasCode(error, ...BEFORE_OPLOG)) return 'unknown';
    throw error;
  }
}
