import type { Response } from 'express';
import type { Timestamp } from 'mongodb';
import type { StreamOutcome } from '../../http/api-request.js';
import { EventWriter } from './event-writer.js';
import { streamEvents, type EndReason, type StreamEnd } from './stream-events.js';
import type { StreamTimes } from './stream-times.js';
import type { ScopeWatcher } from './wakes.js';
import type { WatchCuts } from './watch-cuts.js';
import type { Watch } from './watch.js';

/** How a stream is set up. */
export interface StreamOptions {
  readonly watch: Watch;
  readonly response: Response;
  readonly keyId: string;
  /** Where its caller has got to; undefined: nowhere. */
  readonly since: Timestamp | undefined;
  readonly conflateMs: number;
}

/** What a stream needs of its surroundings. */
export interface StreamContext {
  readonly cuts: WatchCuts;
  readonly times: StreamTimes;
  /** Monotonic time at which the feed was last known to be complete. */
  readonly provenAt: () => number;
  /** Told of each event with news. */
  readonly written: (news: { readonly commits: number; readonly waitedMs: number }) => void;
  /** Told of each stream that has written its last event. */
  readonly ended: (stream: MarketStream) => void;
}

/** What waits to be told: since when, and up to when everything was told at that moment. */
interface News {
  readonly since: number;
  readonly provenBefore: number;
  commits: number;
}

/**
 * One caller's stream. It has a position and no queue: what is new since then is cut when its socket takes it, so that
 * a slow reader gets the newest state.
 */
export class MarketStream implements StreamOutcome, ScopeWatcher {
  private readonly writer: EventWriter;
  private readonly endsAt: number;
  /** Ids of which the caller has got what it lacked. */
  private introduced = 0;
  private isWhole = false;
  /** Everything up to it was told; before that is so, where the telling began. */
  private position: Timestamp | undefined;
  private news: News | undefined;
  private lastNewsAt = -Infinity;
  private mayHaveGrown = false;
  private isLate = false;
  private provenAt: number;
  private timer: NodeJS.Timeout | undefined;
  reason: StreamEnd | undefined;

  constructor(
    readonly options: StreamOptions,
    private readonly context: StreamContext,
  ) {
    const { livesMs, livesVary } = context.times;
    this.endsAt = performance.now() + livesMs * (1 + livesVary * (2 * Math.random() - 1));
    this.provenAt = context.provenAt();
    this.writer = new EventWriter(options.response, () => this.pump());
  }

  get events(): number {
    return this.writer.events;
  }

  begin(): void {
    this.writer.write(streamEvents.retry(500 + Math.floor(2_501 * Math.random())));
    this.pump();
  }

  /** Something of it is changing. */
  markNew(): void {
    this.mayHaveGrown = true;
    if (!this.isWhole) return;
    if (!this.news) {
      const { cuts, provenAt } = this.context;
      this.news = { since: performance.now(), provenBefore: provenAt(), commits: 0 };
      this.position = cuts.position ?? this.position;
    }
    this.news.commits += 1;
  }

  /** Writes what there is to tell, if the socket takes it. */
  pump(): void {
    if (this.reason !== undefined || this.writer.isBlocked) return;
    if (!this.context.cuts.canCut(this.options.watch)) return;
    if (!this.isWhole) this.introduce();
    else if (this.news) this.tellNews(this.news);
  }

  tick(now: number): void {
    const { cuts, times } = this.context;
    if (this.writer.isUnread(now, times.unreadMs)) {
      this.reason = 'unread';
      this.options.response.destroy();
      return;
    }
    this.pump();
    if (cuts.canCut(this.options.watch)) this.provenAt = this.context.provenAt();
    const lateMs = now - this.provenAt;
    if (this.mayHaveGrown && cuts.isOver(this.options.watch)) this.end('size');
    else if (now > this.endsAt) this.end('age');
    else if (this.writer.isBlocked) return;
    else if (lateMs > times.endLateAfterMs) this.end('late');
    else if (lateMs > times.lateAfterMs) this.tellLate(now, lateMs);
    else if (this.isLate || now - this.writer.lastAt >= times.currentEveryMs) this.tellCurrent();
    this.mayHaveGrown = false;
  }

  /** Tells why, as the last event; who does not read it is cut before long. */
  end(reason: EndReason): void {
    if (this.reason !== undefined) return;
    this.writer.end(streamEvents.end(reason));
    this.over(reason);
    this.context.ended(this);
  }

  /** To be called when its connection is gone, or its last event written. */
  over(reason: StreamEnd = 'left'): void {
    this.reason ??= reason;
    clearTimeout(this.timer);
  }

  /** First what the caller lacks of each id; then, once it has all of one state, that it is current. */
  private introduce(): void {
    const { cuts } = this.context;
    const { watch, since } = this.options;
    this.position ??= cuts.position;
    for (const key of watch.keys.slice(this.introduced)) {
      if (this.writer.isBlocked) return;
      const groups = cuts.groups(watch, since, [key]);
      if (groups.length > 0) this.writer.write(streamEvents.changes(groups));
      this.introduced += 1;
    }
    if (this.writer.isBlocked) return;
    const changedMeanwhile = cuts.groups(watch, this.position);
    if (changedMeanwhile.length > 0) this.writer.write(streamEvents.changes(changedMeanwhile));
    this.isWhole = true;
    this.position = cuts.position;
    this.tellCurrent();
  }

  private tellNews({ since, commits }: News): void {
    const now = performance.now();
    const dueInMs = this.lastNewsAt + this.options.conflateMs - now;
    if (dueInMs > 0) {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.pump();
      }, dueInMs).unref();
      return;
    }
    const { cuts } = this.context;
    const event = this.position && cuts.event(this.options.watch, this.position);
    this.position = cuts.position;
    this.news = undefined;
    if (!event) return;
    this.writer.write(event);
    this.lastNewsAt = now;
    this.context.written({ commits, waitedMs: now - since });
  }

  private tellLate(now: number, ageMs: number): void {
    if (this.isLate && now - this.writer.lastAt < this.context.times.lateEveryMs) return;
    this.isLate = true;
    this.writer.write(streamEvents.late(ageMs));
  }

  /** How far it is: with what is held back for conflation, the age is that of the last cut. */
  private tellCurrent(): void {
    const { cuts, provenAt } = this.context;
    if (!this.isWhole || !cuts.canCut(this.options.watch)) return;
    const position = this.news ? this.position : cuts.position;
    if (!position) return;
    const ageMs = performance.now() - (this.news?.provenBefore ?? provenAt());
    this.isLate = false;
    this.writer.write(streamEvents.current(ageMs, cuts.cursor(this.options.watch, position)));
  }
}
