import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { MongoClient, Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { Config } from '../config.js';
import { Database, databaseName, DRIVER_OPTIONS } from '../database/database.js';
import { changeOf, timeOf, type Change, type ChangeEvent, type ChangeListener } from './change.js';
import { ChangeStream, type Batch } from './change-stream.js';
import { clusterTimeOf, type ResumeToken } from './cluster-time.js';
import { Freshness, FRESH_FOR_MS } from './freshness.js';
import { demandProof, NoProof } from './proof.js';

/** How long the server may wait for a change before it says that there was none, in milliseconds. */
const QUIET_WAIT_MS = 40;

/** After changes: just long enough to learn that no more belong to the last commit. */
const COMMIT_WAIT_MS = 1;

const RETRY_AFTER_MS = 250;
const RETRY_HOPELESS_AFTER_MS = 5_000;

/** Error codes that no second try mends soon: no replica set, no privilege, a server too old. */
const HOPELESS = new Set([40573, 13, 8000, 2, 9, 40324]);

const AUTHENTICATION_FAILED = 18;

/** Error codes of a stream that can't go on from where it was: an event too large for a reply is one. */
const CANNOT_RESUME = new Set([260, 280, 286, 222, 50811, 43, 10334]);

/**
 * `current`: nothing older than FRESH_FOR_MS can be missing. `late`: it tells changes, but more may be missing.
 * `blind`: it tells nothing.
 */
export const FEED_STATES = ['current', 'late', 'blind'] as const;
export type FeedState = (typeof FEED_STATES)[number];

/** A server that hangs is given up after this, so that another can be asked. Milliseconds. */
const SOCKET_TIMEOUT_MS = 2_000;

/**
 * Tells whoever remembers documents what changes in the database, in order and without gaps, and knows how
 * complete its knowledge is. It has a connection of its own, so that load on the others can't delay it.
 */
@Injectable()
export class ChangeFeed implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ChangeFeed.name);
  private readonly freshness = new Freshness();
  private readonly listeners = new Map<string, ChangeListener[]>();
  private client: MongoClient | undefined;
  private following: Promise<void> | undefined;
  private readonly ended = new AbortController();
  private resumeToken: ResumeToken | undefined;
  private toldUpTo: Timestamp | undefined;
  /** Events of the newest commit, which may not be whole yet. */
  private held: ChangeEvent[] = [];
  private lastFailure = '';
  private readonly newest = new Map<string, Date>();

  /** Why nothing is told at present, or nothing. */
  blindBecause: string | undefined = 'not started';

  /** Changes told since the start. */
  eventsTold = 0;

  /** Time between the last change that was told and its telling, by the two machines' clocks. Milliseconds. */
  lagMs = 0;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
  ) {}

  /** Every commit up to this cluster time has been told. */
  get position(): Timestamp | undefined {
    return this.toldUpTo;
  }

  /** How long ago it was known that nothing was missing, in milliseconds; infinite while blind. */
  get ageMs(): number {
    return this.freshness.ageMs();
  }

  /** Its state, and the age in milliseconds that makes it so. */
  get standing(): { readonly state: FeedState; readonly ageMs: number } {
    const { ageMs } = this;
    if (this.blindBecause !== undefined) return { state: 'blind', ageMs };
    return { state: ageMs <= FRESH_FOR_MS ? 'current' : 'late', ageMs };
  }

  /** When, by MongoDB's clock, the newest change was made that was told of a collection; none since the start: nothing. */
  newestChangeOf(collection: string): Date | undefined {
    return this.newest.get(collection);
  }

  listen(collection: string, listener: ChangeListener): void {
    this.listeners.set(collection, [...(this.listeners.get(collection) ?? []), listener]);
  }

  /** Follows the database until the application ends. */
  onApplicationBootstrap(): void {
    if (this.listeners.size > 0) this.following = this.follow();
  }

  async onApplicationShutdown(): Promise<void> {
    this.ended.abort();
    await this.client?.close(true);
    await this.following;
    // It may have connected only now.
    await this.client?.close(true);
  }

  private async follow(): Promise<void> {
    while (!this.ended.signal.aborted) {
      await this.followOnce().catch((error: unknown) => this.failed(error));
    }
  }

  private async followOnce(): Promise<void> {
    const uri = this.config.mongodbUri ?? '';
    // A client whose first connection fails is of no more use: it is kept once it is connected.
    this.client ??= await new MongoClient(uri, {
      ...DRIVER_OPTIONS,
      readPreference: 'primary',
      minPoolSize: 0,
      maxPoolSize: 2,
      socketTimeoutMS: SOCKET_TIMEOUT_MS,
    }).connect();
    const db = this.client.db(databaseName(uri));
    await demandProof(db);
    const session = this.client.startSession({ causalConsistency: false });
    try {
      const stream = await ChangeStream.open(
        db,
        session,
        [...this.listeners.keys()],
        await this.startingPoint(async () => {
          const { operationTime } = await db.command({ ping: 1 }, { session });
          return operationTime as Timestamp | undefined;
        }),
      );
      this.take(stream.first);
      this.blindBecause = undefined;
      this.lastFailure = '';
      while (!this.ended.signal.aborted) {
        this.take(await stream.next(this.held.length > 0 ? COMMIT_WAIT_MS : QUIET_WAIT_MS));
      }
    } finally {
      this.freshness.blind();
      this.held = [];
      await session.endSession().catch(() => undefined);
    }
  }

  /** Goes on where it was, or begins anew: from then on nothing that was remembered holds. */
  private async startingPoint(now: () => Promise<Timestamp | undefined>): Promise<object> {
    if (this.resumeToken) return { resumeAfter: this.resumeToken };
    const startAtOperationTime = await now();
    for (const listener of [...this.listeners.values()].flat()) listener.forgetAll();
    this.toldUpTo = startAtOperationTime;
    return startAtOperationTime ? { startAtOperationTime } : {};
  }

  private take({ events, resumeToken, operationTime, clusterTime, askedAt }: Batch): void {
    for (const event of events) {
      if (this.held[0] && !this.held[0].clusterTime.equals(event.clusterTime)) this.tellHeld();
      this.held.push(event);
    }
    const upTo = clusterTimeOf(resumeToken);
    if (this.held[0] && (events.length === 0 || upTo.greaterThan(this.held[0].clusterTime))) {
      this.tellHeld();
    }
    this.freshness.mark(operationTime, askedAt);
    if (this.held[0]) {
      this.toldUpTo = justBefore(this.held[0].clusterTime);
    } else {
      this.resumeToken = resumeToken;
      this.toldUpTo = upTo;
    }
    this.freshness.told(this.toldUpTo);
    if (clusterTime) this.database.horizon = { operationTime: this.toldUpTo, clusterTime };
  }

  private tellHeld(): void {
    const events = this.held;
    this.held = [];
    const last = events.at(-1);
    if (!last) return;
    for (const [collection, listeners] of this.listeners) {
      const changes = events
        .map((event) => changeOf(event, collection))
        .filter((change): change is Change => change !== undefined);
      if (changes.length === 0) continue;
      this.newest.set(collection, timeOf(last));
      const commit = { collection, clusterTime: last.clusterTime, changes };
      for (const listener of listeners) listener.committed(commit);
    }
    this.resumeToken = last._id;
    this.eventsTold += events.length;
    if (last.wallTime) this.lagMs = Math.max(0, Date.now() - last.wallTime.getTime());
    this.toldUpTo = last.clusterTime;
  }

  private async failed(error: unknown): Promise<void> {
    if (this.ended.signal.aborted) return;
    const { code, message } = error as { code?: number; message?: string };
    if (code !== undefined && CANNOT_RESUME.has(code)) this.resumeToken = undefined;
    this.blindBecause = message ?? 'unknown';
    // While MongoDB is away or refuses us, that is all there is to say, and Database says it.
    const saidElsewhere = !this.database.readable || code === AUTHENTICATION_FAILED;
    if (!saidElsewhere && this.blindBecause !== this.lastFailure) {
      this.logger.warn(`The change feed is blind, answers come from MongoDB: ${this.blindBecause}`);
      this.lastFailure = this.blindBecause;
    }
    const hopeless = error instanceof NoProof || (code !== undefined && HOPELESS.has(code));
    const { signal } = this.ended;
    await delay(hopeless ? RETRY_HOPELESS_AFTER_MS : RETRY_AFTER_MS, undefined, { signal }).catch(
      () => undefined,
    );
  }
}

function justBefore(clusterTime: Timestamp): Timestamp {
  return new Timestamp(clusterTime.subtract(1));
}
