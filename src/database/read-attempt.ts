import type { ClientSession, Db, Document, ReadPreference, Timestamp } from 'mongodb';
import { DRIVER_OPTIONS, EXACT_COLLATION } from './driver-options.js';
import { getMoreOf, isOpen, killCursor, type RawCursor } from './raw-cursor.js';
import type { ReadAfterTime } from './read-after-time.js';
import { SECONDARY_AGE_MS } from './secondary-age.js';

/** A command does not take this from its client. */
const { enableUtf8Validation } = DRIVER_OPTIONS;

interface ReadAttemptOptions {
  readonly db: Db;
  readonly session: ClientSession;
  readonly readPreference: ReadPreference;
  readonly signal: AbortSignal;
  /** Monotonic time at which the server gives up. */
  readonly serverDeadline: number;
  readonly readAfterTime: ReadAfterTime;
}

/** One try of a read: its commands all go to the primary, or all to secondaries, and end in time. */
export class ReadAttempt {
  constructor(private readonly options: ReadAttemptOptions) {}

  get isOfPrimary(): boolean {
    return this.options.readPreference.mode === 'primary';
  }

  /** What is read may be so old, in milliseconds. */
  get ageMs(): number {
    return this.isOfPrimary ? 0 : SECONDARY_AGE_MS;
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
  async restOf(first: RawCursor): Promise<Document[]> {
    const rows: Document[] = first['firstBatch'];
    let cursor = first;
    try {
      while (isOpen(cursor)) {
        ({ cursor } = await this.send(getMoreOf(cursor)));
        rows.push(...cursor['nextBatch']);
      }
      return rows;
    } catch (error) {
      this.killCursor(cursor);
      throw error;
    }
  }

  killCursor(cursor: RawCursor): void {
    killCursor(this.options.db, cursor, this.options.readPreference);
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
