import { MongoServerError, type ClientSession, type Db, type Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { changeBatches } from '../change-feed/change-stream.js';
import { changeOf, timeOf } from '../change-feed/change.js';
import { clusterTimeOf, secondsBefore } from '../change-feed/cluster-time.js';

/** The newest change of a collection, as far as the oplog tells. */
export interface NewestChange {
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

/** Each reaches further back than the one before, in seconds: where much changes, little is read. */
const WINDOWS = [1, 10, 100, 1_000, 10_000, 100_000];

/** For the whole search, in milliseconds. */
const SEARCH_MS = 3_000;

/** ChangeStreamHistoryLost, CappedPositionLost. */
const BEFORE_OPLOG = new Set<unknown>([286, 136]);

/**
 * Looks for the newest change in the oplog, by change streams that begin in the past: no collection is read and
 * no index on a time is needed.
 * @throws MongoServerError where there are no change streams, with the reason
 */
export async function newestChange(db: Db, collection: string): Promise<NewestChange> {
  const deadline = performance.now() + SEARCH_MS;
  const session = db.client.startSession({ causalConsistency: false });
  try {
    const { operationTime } = await db.command({ ping: 1 }, { session });
    const search = { db, session, collection, upTo: operationTime as Timestamp };
    let searchedSeconds = 0;
    for (const seconds of WINDOWS) {
      // An oplog can be long. What is left behind ends with the connection.
      const outOfTime = delay(deadline - performance.now(), 'unknown' as const, { ref: false });
      const found = await Promise.race([newestWithin(seconds, search), outOfTime]);
      if (found === 'unknown') break;
      searchedSeconds = seconds;
      if (found === 'none') continue;
      const ageSeconds = Math.max(0, Math.round((Date.now() - found.getTime()) / 1_000));
      return { at: found.toISOString(), ageSeconds, searchedSeconds };
    }
    return { at: null, ageSeconds: null, searchedSeconds };
  } finally {
    await session.endSession();
  }
}

interface Search {
  readonly db: Db;
  readonly session: ClientSession;
  readonly collection: string;
  /** Absent on a standalone server. */
  readonly upTo: Timestamp | undefined;
}

async function newestWithin(
  seconds: number,
  { db, session, collection, upTo }: Search,
): Promise<Date | 'none' | 'unknown'> {
  const start = upTo && { startAtOperationTime: secondsBefore(upTo, seconds) };
  try {
    // Documents would only have to be fetched.
    const options = { collections: [collection], start: { ...start, fullDocument: 'default' } };
    let newest: Date | 'none' = 'none';
    for await (const { events, resumeToken } of changeBatches(db, session, options)) {
      const last = events.findLast((event) => changeOf(event, collection));
      if (last) newest = timeOf(last);
      if (!upTo || !clusterTimeOf(resumeToken).lessThan(upTo)) break;
    }
    return newest;
  } catch (error) {
    if (error instanceof MongoServerError && BEFORE_OPLOG.has(error.code)) return 'unknown';
    throw error;
  }
}
