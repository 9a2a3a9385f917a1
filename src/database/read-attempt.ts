import type { ClientSession, Db, Document, ReadPreference, Timestamp } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import { DECODING, EXACT_COLLATION } from './driver-options.js';
import { getMoreOf, isOpen, killCursor, type RawCursor } from './raw-cursor.js';
import type { ReadSlots } from './read-slots.js';
import { SECONDARY_AGE_MS } from './read-after-time.js';
import type { Topology } from './topology.js';

/** When so many passes have all differed, a transaction reads. */
const PASSES_MAX = 4;

/** The most documents of a short pass: after 1,000 index entries MongoDB always lets writers in. */
const SHORT_MAX = 500;

/** The most documents of a further reply: to decode 16 MB of them would hold up every other request. */
const BATCH_MAX = 1_000;

type CommandOptions = typeof DECODING & {
  readonly session: ClientSession;
  readonly readPreference: ReadPreference;
  readonly signal: AbortSignal;
};

/** One try of a read: its commands all go to the primary, or all to secondaries, and end in time. */
export class ReadAttempt {
  /** @param serverDeadline monotonic time at which the server gives up */
  constructor(
    private readonly db: Db,
    private readonly options: CommandOptions,
    private readonly serverDeadline: number,
    private readonly topology: Pick<Topology, 'hasSnapshots' | 'isSharded' | 'readAfterTime'>,
    private readonly longReads: ReadSlots,
  ) {}

  get isOfPrimary(): boolean {
    return this.options.readPreference.mode === 'primary';
  }

  /** How old an answer of this attempt may be at most, in milliseconds. */
  get ageMs(): number {
    return this.isOfPrimary ? 0 : SECONDARY_AGE_MS;
  }

  /** The server's newest write, whether or not a majority has it; undefined where there is no replica set. */
  async newestWrite(): Promise<Timestamp | undefined> {
    const { lastWrite } = await this.send({ hello: 1 });
    return lastWrite?.opTime?.ts;
  }

  /**
   * Sends a `find` or an `aggregate`. Strings are compared exactly and the newest state is read, whatever the
   * defaults of the collection or the cluster are, unless the command says otherwise.
   */
  command(command: Document): Promise<Document> {
    return this.send(this.withReadOptions(command));
  }

  /** All that a command finds, however many replies of at most 16 MB it takes. */
  async rows(command: Document): Promise<Document[]> {
    if (!this.isOfPrimary || this.topology.isSharded) {
      // The driver's cursor stays with the secondary or the mongos that it began with.
      return this.db.runCursorCommand(this.withReadOptions(command), this.options).toArray();
    }
    const { cursor } = await this.command(command);
    return this.restOf(cursor);
  }

  /**
   * All that a command finds in one state of the primary, though a majority may lack it. What is short is read until
   * two passes agree; what is long, or differs four times, is read in a transaction (decision 2 says why not all). A
   * standalone server has no transactions, so its last pass counts. Secondaries are read in one pass.
   * @param countOf how many documents a pass went over, by its rows
   */
  async rowsOfOneState(
    command: Document,
    countOf: (rows: readonly Document[]) => number = ({ length }) => length,
  ): Promise<Document[]> {
    const { session, readPreference } = this.options;
    let rows = await this.rows(command);
    if (!this.isOfPrimary || session.inTransaction()) return rows;
    for (let passes = 1; passes < PASSES_MAX && countOf(rows) <= SHORT_MAX; passes += 1) {
      const before = rows;
      rows = await this.rows(command);
      if (isDeepStrictEqual(rows, before)) return rows;
    }
    if (!this.topology.hasSnapshots) return rows;
    // The transaction ends with the session. The write concern of a connection string may not be allowed in one.
    const writeConcern = { w: 1 };
    // Without a snapshot each shard would give its own state.
    const readConcern = { level: this.topology.isSharded ? 'snapshot' : 'local' } as const;
    session.startTransaction({ readConcern, writeConcern, readPreference });
    return this.rows(command);
  }

  /**
   * The rows of a cursor whose first batch is there.
   * @param each what to keep of a document, made as it arrives: most take several times the memory of their JSON
   */
  async restOf<T = Document>(
    first: RawCursor,
    each: (document: Document) => T = (document) => document as T,
  ): Promise<T[]> {
    const rows: T[] = first['firstBatch'].map(each);
    // Whoever holds the cursor would hold its documents.
    first['firstBatch'] = [];
    if (!isOpen(first)) return rows;
    const leftMs = this.serverDeadline - performance.now();
    try {
      await this.longReads.run(leftMs, async () => {
        let cursor = first;
        while (isOpen(cursor)) {
          ({ cursor } = await this.send({ ...getMoreOf(cursor), batchSize: BATCH_MAX }));
          rows.push(...cursor['nextBatch'].map(each));
        }
      });
      return rows;
    } catch (error) {
      this.killCursor(first);
      throw error;
    }
  }

  killCursor(cursor: RawCursor): void {
    killCursor(this.db, cursor, this.options.readPreference);
  }

  private withReadOptions(command: Document): Document {
    const { session } = this.options;
    const after: Timestamp | undefined = command['readConcern']?.afterClusterTime;
    // For secondaries the driver takes the time from the session.
    if (after) session.advanceOperationTime(after);
    const readConcern = { level: 'local', ...command['readConcern'] };
    // The server takes the first field for the command's name.
    return {
      ...command,
      collation: EXACT_COLLATION,
      // A transaction gets its read concern when it begins.
      ...(!session.inTransaction() && { readConcern }),
      maxTimeMS: Math.max(1, Math.ceil(this.serverDeadline - performance.now())),
    };
  }

  private async send(command: Document): Promise<Document> {
    const reply = await this.db.command(command, this.options);
    this.topology.readAfterTime.advance(reply['$clusterTime']);
    return reply;
  }
}
