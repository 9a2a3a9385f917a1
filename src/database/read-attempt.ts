import {
  Long,
  type ClientSession,
  type Db,
  type Document,
  type ReadPreference,
  type Timestamp,
} from 'mongodb';
import { DRIVER_OPTIONS, EXACT_COLLATION } from './driver-options.js';
import type { ReadAfterTime } from './read-after-time.js';

/** A command does not take this from its client. */
const { enableUtf8Validation } = DRIVER_OPTIONS;

/** Nobody waits for it, but it must not hold a connection for long. Milliseconds. */
const KILL_CURSOR_WITHIN_MS = 1_000;

interface ReadAttemptOptions {
  readonly db: Db;
  readonly session: ClientSession;
  readonly readPreference: ReadPreference;
  readonly signal: AbortSignal;
  /** Monotonic time at which the server gives up. */
  readonly serverDeadline: number;
  readonly readAfterTime: ReadAfterTime;
  /** What is read may be so old, in milliseconds: more than 0 only where no primary can be asked. */
  readonly ageMs: number;
}

/** One try of a read: its commands all go to the primary, or all to secondaries, and end in time. */
export class ReadAttempt {
  constructor(private readonly options: ReadAttemptOptions) {}

  get ageMs(): number {
    return this.options.ageMs;
  }

  get isOfPrimary(): boolean {
    return this.options.readPreference.mode === 'primary';
  }

  /**
   * Sends a `find` or an `aggregate`. Strings are compared exactly and the newest state is read, whatever the
   * defaults of the collection or the cluster are, unless the command says otherwise.
   */
  command(command: Document): Promise<Document> {
    return this.send(this.whole(command));
  }

  /** All that a command finds, however many replies of at most 16 MB it takes. */
  async rows(command: Document): Promise<Document[]> {
    const { db, session, readPreference, signal } = this.options;
    if (!this.isOfPrimary) {
      // The driver's cursor stays with the secondary that it began with.
      const options = { session, readPreference, signal, enableUtf8Validation };
      return db.runCursorCommand(this.whole(command), options).toArray();
    }
    // The bare command: a cursor object for one batch costs a quarter of the read.
    const { cursor } = await this.command(command);
    return this.restOf(cursor);
  }

  /**
   * All that a command finds in one state of the primary, though a majority may lack it: only a transaction reads so.
   * It ends with the session.
   */
  rowsOfOneState(command: Document): Promise<Document[]> {
    // Named, since a connection string may say what no transaction takes.
    const writeConcern = { w: 1 };
    const { session, readPreference } = this.options;
    session.startTransaction({ readConcern: { level: 'local' }, writeConcern, readPreference });
    return this.rows(command);
  }

  /** The rows of a cursor whose first batch is there. */
  async restOf({ id, ns, firstBatch }: Document): Promise<Document[]> {
    const rows: Document[] = firstBatch;
    const collection = ns.slice(ns.indexOf('.') + 1);
    let cursorId = id;
    try {
      while (String(cursorId) !== '0') {
        // The driver makes a number of a small Long, which the server would not take back.
        const getMore = Long.fromString(String(cursorId));
        const { cursor } = await this.send({ getMore, collection });
        rows.push(...cursor.nextBatch);
        cursorId = cursor.id;
      }
      return rows;
    } catch (error) {
      this.killCursor(cursorId, collection);
      throw error;
    }
  }

  /** Frees a cursor, if it is not read to its end. Nobody waits for it: a server that hangs would take long. */
  killCursor(id: unknown, collection: string): void {
    if (String(id) === '0') return;
    const { db, readPreference } = this.options;
    const command = { killCursors: collection, cursors: [Long.fromString(String(id))] };
    const signal = AbortSignal.timeout(KILL_CURSOR_WITHIN_MS);
    db.command(command, { readPreference, signal }).catch(() => undefined);
  }

  private whole(command: Document): Document {
    const { serverDeadline, session } = this.options;
    const after: Timestamp | undefined = command['readConcern']?.afterClusterTime;
    // At secondaries the session names the time: it must not name an earlier one.
    if (after) session.advanceOperationTime(after);
    // The server takes the first field for the command's name.
    return {
      ...command,
      collation: EXACT_COLLATION,
      readConcern: { level: 'local', ...command['readConcern'] },
      maxTimeMS: Math.max(1, Math.ceil(serverDeadline - performance.now())),
    };
  }

  private async send(command: Document): Promise<Document> {
    const { db, session, readPreference, signal, readAfterTime } = this.options;
    const options = { session, readPreference, signal, enableUtf8Validation };
    const reply = await db.command(command, options);
    readAfterTime.advance(reply['$clusterTime']);
    return reply;
  }
}
