import {
  Long,
  type ClientSession,
  type ClusterTime,
  type Db,
  type Document,
  type Timestamp,
} from 'mongodb';
import { momentNow, type Moment } from '../common/moment.js';
import { DRIVER_OPTIONS } from '../database/driver-options.js';
import type { ChangeEvent } from './change.js';
import type { ResumeToken } from './cluster-time.js';

/** What one answer of the server brings. */
export interface Batch {
  readonly events: readonly ChangeEvent[];
  /** The stream has told everything up to here, but for what may follow with the same cluster time. */
  readonly resumeToken: ResumeToken;
  /** The newest write that a majority has, as far as the server knew: only such are told. */
  readonly operationTime: Timestamp;
  /**
   * The newest time that the server knew of, not before its newest write. Signed: what other servers need to
   * believe it.
   */
  readonly clusterTime: ClusterTime | undefined;
  /** Before the server was asked. */
  readonly askedAt: Moment;
}

interface CursorReply extends Document {
  readonly operationTime: Timestamp;
  readonly $clusterTime?: ClusterTime;
  readonly cursor: {
    readonly id: Long | number;
    readonly ns: string;
    readonly firstBatch?: readonly ChangeEvent[];
    readonly nextBatch?: readonly ChangeEvent[];
    readonly postBatchResumeToken: ResumeToken;
  };
}

const EVENTS_AT_A_TIME = 1_000;

/** A command does not take this from its client: one broken string must not end the stream for good. */
const { enableUtf8Validation } = DRIVER_OPTIONS;

/**
 * A change stream of a database in the server's own commands: unlike the driver's stream it never resumes
 * silently, and each answer tells how far the server itself has got.
 */
export class ChangeStream {
  private constructor(
    private readonly db: Db,
    private readonly session: ClientSession,
    private readonly cursorId: Long,
    private readonly namespace: string,
    readonly first: Batch,
  ) {}

  /**
   * @param start where to begin, by `startAtOperationTime` or `resumeAfter`; other options of `$changeStream`
   * @param shape which parts of the events are wanted
   */
  static async open(
    db: Db,
    session: ClientSession,
    collections: readonly string[],
    start: Document,
    shape: readonly Document[] = [],
  ): Promise<ChangeStream> {
    const images = { fullDocument: 'whenAvailable', fullDocumentBeforeChange: 'whenAvailable' };
    const pipeline = [
      { $changeStream: { ...images, ...start } },
      { $match: { $or: ['ns.coll', 'to.coll'].map((path) => ({ [path]: { $in: collections } })) } },
      ...shape,
    ];
    const aggregate = { aggregate: 1, pipeline, cursor: { batchSize: EVENTS_AT_A_TIME } };
    const { cursor, batch } = await ask(db, session, aggregate);
    const namespace = cursor.ns.slice(cursor.ns.indexOf('.') + 1);
    // The driver makes a number of a small Long, which the server would not take back.
    const cursorId = Long.fromString(String(cursor.id));
    return new ChangeStream(db, session, cursorId, namespace, batch);
  }

  /** @param waitMs how long the server may wait for something to happen */
  async next(waitMs: number): Promise<Batch> {
    const { batch } = await ask(this.db, this.session, {
      getMore: this.cursorId,
      collection: this.namespace,
      batchSize: EVENTS_AT_A_TIME,
      maxTimeMS: waitMs,
    });
    return batch;
  }

  async close(): Promise<void> {
    const command = { killCursors: this.namespace, cursors: [this.cursorId] };
    await this.db.command(command, { session: this.session });
  }
}

async function ask(
  db: Db,
  session: ClientSession,
  command: Document,
): Promise<{ cursor: CursorReply['cursor']; batch: Batch }> {
  const askedAt = momentNow();
  const reply = (await db.command(command, { session, enableUtf8Validation })) as CursorReply;
  const { cursor, operationTime, $clusterTime: clusterTime } = reply;
  const events = cursor.firstBatch ?? cursor.nextBatch ?? [];
  const resumeToken = cursor.postBatchResumeToken;
  return { cursor, batch: { events, resumeToken, operationTime, clusterTime, askedAt } };
}

/** Of what documents were before a change, only some fields; nothing where it is not known. */
export function onlyFieldsBefore(fields: readonly string[]): Document[] {
  const image = '$fullDocumentBeforeChange';
  const wanted = Object.fromEntries(fields.map((field) => [field, `${image}.${field}`]));
  const isKnown = { $eq: [{ $type: image }, 'object'] };
  return [{ $set: { fullDocumentBeforeChange: { $cond: [isKnown, wanted, null] } } }];
}
