import type { ClusterTime, Db, Document, Timestamp } from 'mongodb';
import { momentNow, type Moment } from '../common/moment.js';
import { DECODING } from '../database/driver-options.js';
import { getMoreOf, isOpen, killCursor, type RawCursor } from '../database/raw-cursor.js';
import type { ChangeEvent } from './change.js';
import type { ResumeToken } from './cluster-time.js';

/** What one reply of the server brings. */
export interface Batch {
  readonly events: readonly ChangeEvent[];
  /** The stream has told everything up to here, but for what may follow with the same cluster time. */
  readonly resumeToken: ResumeToken;
  /** The newest write that a majority has, as far as the server knew: only such are told. */
  readonly operationTime: Timestamp;
  /**
   * The newest time that the server knew of, not before its newest write. It is signed, so that other servers
   * accept it.
   */
  readonly clusterTime: ClusterTime | undefined;
  /** Before the server was asked. */
  readonly askedAt: Moment;
}

interface ChangeStreamOptions {
  readonly collections: readonly string[];
  /** Where to begin, by `startAtOperationTime` or `resumeAfter`. */
  readonly start: Document;
  /** Whether the making of collections and the like is told, too. */
  readonly showExpandedEvents?: boolean;
  /** Which parts of the events are wanted. */
  readonly shape?: readonly Document[];
  /** How long the server may wait for something to happen, in milliseconds. */
  readonly waitMs?: () => number;
}

const EVENTS_AT_A_TIME = 1_000;

/**
 * A change stream of a database in the server's own commands: unlike the driver's stream it never resumes
 * silently, and each reply tells how far the server itself has got. It is closed when its reader leaves it. MongoDB
 * ends a stream when its database is dropped: another one goes on after it.
 */
export async function* changeBatches(
  db: Db,
  { collections, start, showExpandedEvents, shape = [], waitMs = () => 1 }: ChangeStreamOptions,
): AsyncGenerator<Batch> {
  const images = { fullDocument: 'whenAvailable', fullDocumentBeforeChange: 'whenAvailable' };
  const options = { ...images, ...(showExpandedEvents && { showExpandedEvents }) };
  const of = ['ns.coll', 'to.coll'].map((path) => ({ [path]: { $in: collections } }));
  const open = (from: Document): Document => ({
    aggregate: 1,
    pipeline: [{ $changeStream: { ...options, ...from } }, { $match: { $or: of } }, ...shape],
    cursor: { batchSize: EVENTS_AT_A_TIME },
  });
  let command = open(start);
  let cursor: RawCursor | undefined;
  // A cursor is read on in the session that it began in.
  const session = db.client.startSession({ causalConsistency: false });
  try {
    for (;;) {
      const askedAt = momentNow();
      const reply = await db.command(command, { session, ...DECODING });
      cursor = reply['cursor'] as RawCursor;
      yield {
        events: cursor['firstBatch'] ?? cursor['nextBatch'],
        resumeToken: cursor['postBatchResumeToken'],
        operationTime: reply['operationTime'],
        clusterTime: reply['$clusterTime'],
        askedAt,
      };
      command = isOpen(cursor)
        ? { ...getMoreOf(cursor), batchSize: EVENTS_AT_A_TIME, maxTimeMS: waitMs() }
        : open({ startAfter: cursor['postBatchResumeToken'] });
    }
  } finally {
    if (cursor) killCursor(db, cursor);
    await session.endSession().catch(() => undefined);
  }
}

/** Stages that reduce pre-images to some of their fields, or to null where there is none. */
export function onlyFieldsBefore(fields: readonly string[]): Document[] {
  const image = '$fullDocumentBeforeChange';
  const wanted = Object.fromEntries(fields.map((field) => [field, `${image}.${field}`]));
  const isKnown = { $eq: [{ $type: image }, 'object'] };
  return [{ $set: { fullDocumentBeforeChange: { $cond: [isKnown, wanted, null] } } }];
}
