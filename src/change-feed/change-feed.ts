import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Timestamp, type Db } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { momentNow, type Moment } from '../common/moment.js';
import { messageOf } from '../common/text.js';
import { Config } from '../config.js';
import { Database } from '../database/database.js';
import { isAuthenticationFailure, isLoggedOut } from '../database/mongo-errors.js';
import type { ChangeListener } from './change.js';
import { changeBatches, onlyFieldsBefore, type Batch } from './change-stream.js';
import { clusterTimeOf, type ResumeToken } from './cluster-time.js';
import { CommitAssembly, type CommitEvents } from './commit-assembly.js';
import { followWithReconnect } from './feed-connection.js';
import { endsResumption, mayChangeKinds, requirePlainCollections } from './followable.js';
import { LateLog } from './late-log.js';
import { Listeners } from './listeners.js';
import { FRESH_FOR_MS, FeedProgress, type FeedStatus } from './feed-progress.js';

/** How long the server may wait for a change before it says that there was none, in milliseconds. */
const QUIET_WAIT_MS = 40;

/** The same while a commit may go on: just long enough to learn whether more of it follows. */
const COMMIT_WAIT_MS = 1;

/** When no reply has proved the feed complete for so long, the primary is asked for its newest write. Milliseconds. */
const ASK_NEWEST_AFTER_MS = 60;

/**
 * After a longer silence the feed begins anew in place of resuming: MongoDB may take too long to find the place, or may
 * have been restored from a backup. Milliseconds.
 */
const RESUMED_WITHIN_MS = 20_000;

/** How often the feed checks whether it has reached a cluster time, in milliseconds. */
const CHECK_EVERY_MS = 5;

const NOT_STARTED = 'not started';

/** Tells listeners what changes in the database, in order and without gaps, and knows how far it has got. */
@Injectable()
export class ChangeFeed implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ChangeFeed.name);
  private readonly ended = new AbortController();
  private readonly lateLog = new LateLog(this.logger);
  private readonly assembly = new CommitAssembly();
  private following: Promise<void> | undefined;
  private resumeToken: ResumeToken | undefined;
  private lastBatchAt = -Infinity;
  private lastFailure = '';
  private provenBefore: Moment = { monotonicMs: -Infinity, wallMs: -Infinity };

  /** They are told each commit, and know the newest change. */
  readonly listeners = new Listeners();
  /** How far the feed has got, and how far the majority of the members. */
  progress = new FeedProgress();

  /** Why no changes are told at present; undefined while they are. */
  blindBecause: string | undefined = NOT_STARTED;

  /** Every commit up to this cluster time has been told. */
  position: Timestamp | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
  ) {}

  /** Whether the feed has not yet begun to tell changes, and has not failed either. */
  get isStarting(): boolean {
    return this.blindBecause === NOT_STARTED;
  }

  /** When it was last known that nothing was missing, though the feed may be blind now. */
  get provenAt(): Moment {
    return this.progress.provenAt ?? this.provenBefore;
  }

  /** See `FeedStatus`. */
  get ageMs(): number {
    return this.progress.ageMs();
  }

  /** Whether nothing can be missing but what was written a moment ago. */
  get isCurrent(): boolean {
    return this.ageMs <= FRESH_FOR_MS;
  }

  /** Whether the feed has yet to reach a cluster time. */
  isBehind(clusterTime: Timestamp): boolean {
    return !this.position?.greaterThanOrEqual(clusterTime);
  }

  /** Waits until everything up to a cluster time is told; false if the feed stops being current before that. */
  async waitFor(clusterTime: Timestamp): Promise<boolean> {
    while (this.isBehind(clusterTime) && this.isCurrent) await delay(CHECK_EVERY_MS);
    return !this.isBehind(clusterTime);
  }

  get status(): FeedStatus {
    return this.progress.status();
  }

  listen(collection: string, listener: ChangeListener): void {
    this.listeners.add(collection, listener);
  }

  /** Follows the database until the application ends. */
  onApplicationBootstrap(): void {
    this.following = followWithReconnect(
      this.config.mongodbUri ?? '',
      (db) => this.follow(db),
      (error) => this.failed(error),
      this.ended.signal,
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.ended.abort();
    await this.following;
  }

  private async follow(db: Db): Promise<void> {
    const { collections, fieldsBefore } = this.listeners;
    let toCheck: readonly string[] = collections;
    const options = {
      collections,
      start: await this.startingPoint(db),
      shape: onlyFieldsBefore(fieldsBefore),
      waitMs: () => (this.assembly.pending ? COMMIT_WAIT_MS : QUIET_WAIT_MS),
    };
    try {
      for await (const batch of changeBatches(db, options)) {
        if (mayChangeKinds(batch.events)) toCheck = collections;
        toCheck = await requirePlainCollections(toCheck, db);
        this.take(batch);
        // A slow reply, too, may prove that all was told when it was asked for: then the primary need not be asked.
        const hasProved = this.progress.ageMs(batch.askedAt) <= 0;
        if (!hasProved && this.ageMs > ASK_NEWEST_AFTER_MS) await this.askNewest(db);
        this.succeeded();
        this.lateLog.note(this.progress.status());
        // The client may have connected only after the end had begun: then nothing has closed it.
        if (this.ended.signal.aborted) return;
      }
    } finally {
      this.provenBefore = this.provenAt;
      this.progress = new FeedProgress();
      this.assembly.clear();
    }
  }

  /** Resumes where it was, or begins anew and makes listeners forget everything. */
  private async startingPoint(db: Db): Promise<object> {
    const mayResume = performance.now() - this.lastBatchAt <= RESUMED_WITHIN_MS;
    if (this.resumeToken && mayResume) return { resumeAfter: this.resumeToken };
    const { lastWrite } = await db.command({ hello: 1 });
    // What is newer may still be lost, and is told when a majority has it.
    const startAtOperationTime: Timestamp | undefined = lastWrite?.majorityOpTime?.ts;
    this.listeners.forgetAll(startAtOperationTime);
    this.position = startAtOperationTime;
    return startAtOperationTime ? { startAtOperationTime } : {};
  }

  private take({ events, resumeToken, operationTime, clusterTime, askedAt }: Batch): void {
    const streamAt = clusterTimeOf(resumeToken);
    for (const commit of this.assembly.add(events, streamAt)) {
      this.tell(commit);
      this.resumeToken = commit.last._id;
    }
    const { pending } = this.assembly;
    if (!pending) this.resumeToken = resumeToken;
    this.position = pending ? new Timestamp(pending.subtract(1)) : streamAt;
    this.progress.reached(this.position, operationTime);
    if (!clusterTime || this.database.topology.hasOnlySecondaries) return;
    this.progress.mark(clusterTime.clusterTime, askedAt);
    this.database.topology.readAfterTime.advance(clusterTime);
  }

  /** A listener that fails at a commit would fail at it again and again, so all listeners begin anew after it. */
  private tell(commit: CommitEvents): void {
    try {
      this.listeners.tell(commit);
    } catch (error) {
      this.logger.error({ err: error }, 'A change could not be applied: what was known is dropped');
      this.listeners.forgetAll(commit.last.clusterTime);
    }
  }

  /**
   * Asks for the newest write of the primary, whether or not a majority has it. The `$clusterTime` of its replies
   * may be ahead of it: a write that failed takes a time too, and other clients bring theirs.
   */
  private async askNewest(db: Db): Promise<void> {
    const askedAt = momentNow();
    const { isWritablePrimary, lastWrite } = await db.command({ hello: 1 });
    if (isWritablePrimary) this.progress.mark(lastWrite.opTime.ts, askedAt);
  }

  private succeeded(): void {
    this.blindBecause = undefined;
    this.lastBatchAt = performance.now();
    if (this.lastFailure)
      this.logger.log('The change feed is back, answers come from memory again');
    this.lastFailure = '';
  }

  private failed(error: unknown): void {
    if (endsResumption(error)) this.resumeToken = undefined;
    // Without requests only the feed finds out.
    if (isLoggedOut(error)) void this.database.logInAgain();
    this.blindBecause = messageOf(error);
    // Database logs that MongoDB is away, or refuses us.
    if (!this.database.topology.readable || isAuthenticationFailure(error)) return;
    if (this.blindBecause === this.lastFailure) return;
    this.logger.warn(`The change feed is blind, answers come from MongoDB: ${this.blindBecause}`);
    this.lastFailure = this.blindBecause;
  }
}
