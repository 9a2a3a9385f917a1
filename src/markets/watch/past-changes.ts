import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Timestamp, type Document } from 'mongodb';
import type { Model } from 'mongoose';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { changeOf } from '../../change-feed/change.js';
import { ChangeStream, onlyFieldsBefore, type Batch } from '../../change-feed/change-stream.js';
import { clusterTimeOf } from '../../change-feed/cluster-time.js';
import { Database } from '../../database/database.js';
import { MarketChange } from '../cache/market-change.js';
import { Market } from '../market.schema.js';
import { SCOPE_FIELDS } from '../scope.js';
import { ChangeHistory } from './change-history.js';
import type { WatchQuestion } from './watch-question.js';

/** How far back the history is filled after a start, in seconds: first what callers who reconnect need. */
const RECENT_SECONDS = 30;
const ALL_SECONDS = 600;

const FEED_POLL_MS = 50;

/** Of a caller's time, what remains for the answer after waiting for the past. Milliseconds. */
const ANSWER_MS = 300;

/** What the history needs of an event: no more than that crosses the wire. */
const SHAPE: readonly Document[] = [
  ...onlyFieldsBefore(SCOPE_FIELDS),
  {
    $project: {
      operationType: 1,
      clusterTime: 1,
      ns: 1,
      to: 1,
      documentKey: 1,
      fullDocumentBeforeChange: 1,
      ...Object.fromEntries(SCOPE_FIELDS.map((field) => [`fullDocument.${field}`, 1])),
    },
  },
];

/** Fills the history after a start with what happened before, from MongoDB's own log. */
@Injectable()
export class PastChanges implements OnApplicationShutdown {
  private readonly logger = new Logger(PastChanges.name);
  private run = 0;
  private closed = false;
  /** Resolves when callers who reconnect can be told what they missed, or never will be. */
  recent: Promise<unknown> = Promise.resolve();

  constructor(
    @InjectModel(Market.name) private readonly markets: Model<Market>,
    private readonly database: Database,
    private readonly history: ChangeHistory,
    private readonly feed: ChangeFeed,
  ) {}

  /** @param until a position up to which nothing is noted; undefined where there is no log */
  fill(until: Timestamp | undefined): void {
    const run = (this.run += 1);
    if (!until || this.closed) return;
    this.recent = this.fillFrom(run, until, RECENT_SECONDS);
    void this.recent.then(() => this.fillFrom(run, until, ALL_SECONDS));
  }

  /** Waits, where a caller comes from a time before the process started, for what was then. */
  async known({ since, leftMs }: WatchQuestion): Promise<void> {
    const { begin } = this.history;
    if (!since || (begin && !since.lessThan(begin)) || leftMs < ANSWER_MS) return;
    await Promise.race([this.recent, delay(leftMs - ANSWER_MS, undefined, { ref: false })]);
  }

  onApplicationShutdown(): void {
    this.closed = true;
    this.run += 1;
  }

  private async fillFrom(run: number, until: Timestamp, seconds: number): Promise<void> {
    // Where the feed itself can't read MongoDB's log, nobody can.
    do await delay(FEED_POLL_MS);
    while (run === this.run && this.feed.ageMs === Infinity);
    const { begin } = this.history;
    // What was dropped since is too much to hold, or of another collection.
    if (run !== this.run || !begin || begin.greaterThan(until)) return;
    try {
      await this.read(run, secondsBefore(until, seconds), begin);
    } catch (error) {
      if (run !== this.run) return;
      this.logger.warn({ err: error }, `What changed ${seconds} s ago is not known`);
    }
  }

  /** Notes all changes after `from` up to `until`. */
  private async read(run: number, from: Timestamp, until: Timestamp): Promise<void> {
    const { name } = this.markets.collection;
    const session = this.database.connection.getClient().startSession({ causalConsistency: false });
    try {
      const start = { startAtOperationTime: from };
      const stream = await ChangeStream.open(this.database.db, session, [name], start, SHAPE);
      let batch = stream.first;
      let begin = from;
      while (run === this.run) {
        begin = this.note(batch, begin, until);
        if (!clusterTimeOf(batch.resumeToken).lessThan(until)) break;
        batch = await stream.next(1);
      }
      await stream.close();
      if (run === this.run) this.history.extendTo(begin);
    } finally {
      await session.endSession().catch(() => undefined);
    }
  }

  /** @returns where the history can begin: after the last time that the collection became another */
  private note({ events }: Batch, begin: Timestamp, until: Timestamp): Timestamp {
    for (const event of events) {
      if (event.clusterTime.greaterThan(until)) break;
      const told = changeOf(event, this.markets.collection.name);
      if (!told) continue;
      if (told.kind === 'replaced') {
        begin = event.clusterTime;
        continue;
      }
      this.history.noteChange(new MarketChange(told, event.clusterTime));
      // Where it is now nobody kept.
      if (told.kind === 'altered') this.history.noteUnknown(event.clusterTime);
    }
    return begin;
  }
}

function secondsBefore(clusterTime: Timestamp, seconds: number): Timestamp {
  return new Timestamp({ t: clusterTime.getHighBitsUnsigned() - seconds, i: 0 });
}
