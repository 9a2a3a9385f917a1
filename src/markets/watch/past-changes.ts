import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Timestamp, type Document } from 'mongodb';
import type { Model } from 'mongoose';
import { setTimeout as delay } from 'node:timers/promises';
import { changeOf } from '../../change-feed/change.js';
import { ChangeStream, onlyFieldsBefore, type Batch } from '../../change-feed/change-stream.js';
import { clusterTimeOf } from '../../change-feed/cluster-time.js';
import { Database } from '../../database/database.js';
import { LiveScopes, type ChangeObserver } from '../cache/live-scopes.js';
import { MarketChange } from '../cache/market-change.js';
import { Market } from '../market.schema.js';
import { SCOPE_FIELDS } from '../scope.js';
import { HistoryRecorder, noteIn } from './history-recorder.js';

/** How far back the history is filled after a start, in seconds: first what callers who reconnect need. */
const BACK_SECONDS = [30, 600];

const FEED_POLL_MS = 50;

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
export class PastChanges implements ChangeObserver, OnApplicationShutdown {
  private readonly logger = new Logger(PastChanges.name);
  private ended = false;
  private run = 0;
  private soon: Promise<void> = Promise.resolve();

  constructor(
    @InjectModel(Market.name) private readonly markets: Model<Market>,
    private readonly database: Database,
    private readonly recorder: HistoryRecorder,
    live: LiveScopes,
  ) {
    live.addObserver(this);
  }

  /** Resolves when callers who reconnect can be told what they missed, or never will be. */
  get recent(): Promise<void> {
    return this.soon;
  }

  told(): void {
    // The recorder notes it.
  }

  forgotAll(): void {
    this.run += 1;
    this.soon = new Promise((resolve) => {
      void this.fill(this.run, resolve).finally(resolve);
    });
  }

  onApplicationShutdown(): void {
    this.ended = true;
  }

  private isCurrent(run: number): boolean {
    return !this.ended && run === this.run;
  }

  private async fill(run: number, firstDone: () => void): Promise<void> {
    // The feed is about to say from when on it tells.
    do await delay(FEED_POLL_MS);
    while (this.isCurrent(run) && !this.recorder.state.begin);
    const { begin: until, epoch } = this.recorder.state;
    for (const seconds of BACK_SECONDS) {
      const { begin } = this.recorder.state;
      if (!until || !begin || begin.greaterThan(until) || !this.isCurrent(run)) return;
      try {
        await this.read(run, epoch, secondsBefore(until, seconds), begin);
      } catch (error) {
        if (!this.isCurrent(run)) return;
        this.logger.warn({ err: error }, `What changed ${seconds} s ago is not known`);
        return;
      } finally {
        firstDone();
      }
    }
  }

  /** Notes all changes after `from` up to `until`. */
  private async read(run: number, epoch: number, from: Timestamp, until: Timestamp): Promise<void> {
    const { name } = this.markets.collection;
    const session = this.database.connection.getClient().startSession({ causalConsistency: false });
    try {
      const start = { startAtOperationTime: from };
      const stream = await ChangeStream.open(this.database.db, session, [name], start, SHAPE);
      let batch = stream.first;
      let begin = from;
      while (this.isCurrent(run)) {
        begin = this.note(batch, begin, until);
        if (!clusterTimeOf(batch.resumeToken).lessThan(until)) break;
        batch = await stream.next(1);
      }
      await stream.close();
      if (this.isCurrent(run)) this.recorder.history.extendTo(begin, epoch);
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
      noteIn(this.recorder.history, new MarketChange(told, event.clusterTime));
      // Where it is now nobody kept.
      if (told.kind === 'altered') this.recorder.history.noteUnknown(event.clusterTime);
    }
    return begin;
  }
}

function secondsBefore(clusterTime: Timestamp, seconds: number): Timestamp {
  return new Timestamp({ t: clusterTime.getHighBitsUnsigned() - seconds, i: 0 });
}
