import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { changeBatches } from '../../change-feed/change-stream.js';
import { changeOf, type ChangeListener } from '../../change-feed/change.js';
import { clusterTimeOf, secondsBefore } from '../../change-feed/cluster-time.js';
import { MARKETS } from '../../common/collections.js';
import { Database } from '../../database/database.js';
import { isAway, isLoggedOut } from '../../database/mongo-errors.js';
import { ChangeHistory, KEPT_SECONDS } from '../cache/change-history.js';
import { MarketChange } from '../cache/market-change.js';
import { SCOPE_FIELDS } from '../scope.js';
import { FewWaits } from './few-waits.js';
import type { WatchQuestion } from './watch-question.js';

/** The history is filled so far back, step by step: clients that reconnect have missed seconds, not minutes. */
const STEPS_SECONDS = [10, 60, KEPT_SECONDS];

const POLL_MS = 10;

/** The pause before the past is read again since that was cut off, by an election for one. Milliseconds. */
const AGAIN_AFTER_MS = 500;

/** How long after the feed has begun any number of requests may wait for the past. Milliseconds. */
const ALL_WAIT_MS = 500;

/** Only these parts of an event are sent: its kind, its time, and the market's scopes before and after it. */
const PARTS = ['operationType', 'clusterTime', 'ns', 'to', 'documentKey'];
const SCOPES = ['fullDocument', 'fullDocumentBeforeChange'].flatMap((image) =>
  SCOPE_FIELDS.map((field) => `${image}.${field}`),
);
const SHAPE = [{ $project: Object.fromEntries([...PARTS, ...SCOPES].map((part) => [part, 1])) }];

/** Whenever the feed begins anew, fills the history with what happened before, from the oplog. */
@Injectable()
export class HistoryBackfill implements ChangeListener, OnApplicationShutdown {
  private readonly logger = new Logger(HistoryBackfill.name);
  /** Raised when the feed begins anew, and at shutdown: what is read for an earlier generation is out of date. */
  private generation = 0;
  private closed = false;
  private feedBegunAt = -Infinity;
  private readonly waits = new FewWaits();
  /** Whether more of the past may become known. */
  isFilling = false;

  constructor(
    private readonly database: Database,
    private readonly history: ChangeHistory,
    private readonly feed: ChangeFeed,
  ) {
    feed.listen(MARKETS, this);
  }

  /** @param until where the feed begins; undefined where there is no oplog */
  forgetAll(until: Timestamp | undefined): void {
    this.generation += 1;
    this.feedBegunAt = performance.now();
    this.isFilling = until !== undefined && !this.closed;
    if (until && this.isFilling) void this.fillAll(this.generation, until);
  }

  /** Waits until the past is known where a client's cursor is older than the history, if there is time and room. */
  async waitUntilKnown({ since, waitMs }: WatchQuestion): Promise<void> {
    const mayAllWait = performance.now() - this.feedBegunAt < ALL_WAIT_MS;
    if (since && (mayAllWait || !this.waits.isFull))
      await this.waits.count(this.waitFor(since, performance.now() + waitMs));
  }

  onApplicationShutdown(): void {
    this.closed = true;
    this.isFilling = false;
    this.generation += 1;
  }

  private async waitFor(since: Timestamp, deadline: number): Promise<void> {
    while (this.isFilling && !this.history.reaches(since) && performance.now() < deadline)
      await delay(POLL_MS, undefined, { ref: false });
  }

  private async fillAll(generation: number, until: Timestamp): Promise<void> {
    for (const seconds of STEPS_SECONDS) await this.fill(generation, until, seconds);
    if (generation === this.generation) this.isFilling = false;
  }

  private async fill(generation: number, until: Timestamp, seconds: number): Promise<void> {
    // While the feed can't read the oplog, this can't either; and `database` may connect after the feed.
    do await delay(POLL_MS);
    while (
      generation === this.generation &&
      (this.feed.ageMs === Infinity || !this.database.connection.db)
    );
    const { begin } = this.history;
    // A history that begins later has dropped what was before: there was too much, or it was of another collection.
    if (generation !== this.generation || !begin || begin.greaterThan(until)) return;
    try {
      await this.noteBetween(generation, secondsBefore(until, seconds), begin);
    } catch (error) {
      if (generation !== this.generation) return;
      if (isAway(error) || isLoggedOut(error)) {
        await delay(AGAIN_AFTER_MS, undefined, { ref: false });
        return this.fill(generation, until, seconds);
      }
      this.logger.warn({ err: error }, `The changes of the last ${seconds} s could not be read`);
    }
  }

  /** Reads from the oplog what happened to the markets after a cluster time, up to another. */
  private async noteBetween(generation: number, from: Timestamp, until: Timestamp): Promise<void> {
    let knownAfter = from;
    // Expanded events tell when the collection was made: a cursor from before that is of another collection.
    const start = { startAtOperationTime: from };
    const options = { collections: [MARKETS], start, showExpandedEvents: true, shape: SHAPE };
    for await (const { events, resumeToken } of changeBatches(this.database.db, options)) {
      if (generation !== this.generation) return;
      for (const event of events) {
        if (event.clusterTime.greaterThan(until)) break;
        const change = changeOf(event, MARKETS);
        if (change?.kind === 'collectionReplaced') knownAfter = event.clusterTime;
        else if (change) this.history.noteChange(new MarketChange(change, event.clusterTime));
      }
      const readUpTo = clusterTimeOf(resumeToken);
      // Events of the last transaction may go on in further replies, until one has none.
      if (readUpTo.greaterThan(until) || (events.length === 0 && readUpTo.equals(until))) break;
    }
    if (generation === this.generation) this.history.extendTo(knownAfter);
  }
}
