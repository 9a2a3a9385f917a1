import type { Response } from 'express';
import type { Timestamp } from 'mongodb';
import type { StreamOutcome } from '../../http/api-request.js';
import { streamEvents, type EndReason, type StreamEnd } from './stream-events.js';
import type { StreamTimes } from './stream-times.js';
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

/**
 * One caller's stream. It has a position and no queue: what is new since then is cut when its socket takes it, so that
 * a slow reader gets the newest state.
 */
export class MarketStream implements StreamOutcome {
  readonly openedAt = performance.now();
  private readonly endsAt: number;
  /** Of each id, where the snapshot or what was missed was cut. */
  private readonly cutAt: Timestamp[] = [];
  private isWhole = false;
  private position: Timestamp | undefined;
  /** When it last became known that there is something new; nothing new: undefined. */
  private newSince: number | undefined;
  /** Up to when everything was told at that moment. */
  private wholeUntil = -Infinity;
  /** Commits that wait to be told. */
  private waiting = 0;
  private blockedSince: number | undefined;
  private lastEventAt = -Infinity;
  private lastNewsAt = -Infinity;
  private isLate = false;
  private provenAt: number;
  private timer: NodeJS.Timeout | undefined;
  reason: StreamEnd | undefined;
  events = 0;

  constructor(
    readonly options: StreamOptions,
    private readonly context: StreamContext,
  ) {
    const { livesMs, livesVary } = context.times;
    this.endsAt = this.openedAt + livesMs * (1 + livesVary * (2 * Math.random() - 1));
    this.provenAt = context.provenAt();
    options.response.on('drain', () => {
      this.blockedSince = undefined;
      this.pump();
    });
  }

  begin(): void {
    this.write(streamEvents.retry(500 + Math.floor(2_501 * Math.random())));
    this.pump();
  }

  /**
   * Something of it is changing.
   * @param before where the feed was before
   */
  markNew(before: Timestamp | undefined): void {
    this.waiting += 1;
    if (this.newSince !== undefined || !this.isWhole) return;
    this.newSince = performance.now();
    this.wholeUntil = this.context.provenAt();
    if (before) this.position = before;
  }

  /** Writes what there is to tell, if the socket takes it. */
  pump(): void {
    if (this.reason !== undefined || this.blockedSince !== undefined) return;
    if (!this.context.cuts.canCut(this.options.watch)) return;
    if (!this.isWhole) this.introduce();
    else if (this.newSince !== undefined) this.tellNew();
  }

  tick(now: number): void {
    const { times } = this.context;
    if (this.reason !== undefined) return;
    if (this.blockedSince !== undefined && now - this.blockedSince > times.unreadMs) {
      this.reason = 'unread';
      this.options.response.destroy();
      return;
    }
    this.pump();
    if (this.context.cuts.canCut(this.options.watch)) this.provenAt = this.context.provenAt();
    const lateMs = now - this.provenAt;
    if (now > this.endsAt) this.end('age');
    else if (this.blockedSince !== undefined) return;
    else if (lateMs > times.endLateAfterMs) this.end('late');
    else if (lateMs > times.lateAfterMs) this.tellLate(now, lateMs);
    else if (this.isLate || now - this.lastEventAt >= times.currentEveryMs) this.tellCurrent();
  }

  /** Tells why, as the last event; who does not read it is cut before long. */
  end(reason: EndReason): void {
    if (this.reason !== undefined) return;
    this.write(streamEvents.end(reason));
    this.reason = reason;
    clearTimeout(this.timer);
    this.options.response.end();
    this.context.ended(this);
  }

  closed(): void {
    this.reason ??= 'left';
    clearTimeout(this.timer);
  }

  /** First what the caller lacks of each id; then, once it has all of one state, that it is current. */
  private introduce(): void {
    const { cuts } = this.context;
    const { watch, since } = this.options;
    for (const [index, key] of watch.keys.entries()) {
      if (this.cutAt[index]) continue;
      if (!cuts.position || this.blockedSince !== undefined) return;
      const group = cuts.group(watch, key, since);
      this.cutAt[index] = cuts.position;
      if (group) this.write(streamEvents.changes([group]));
    }
    if (this.blockedSince !== undefined) return;
    const changedMeanwhile = watch.keys
      .map((key, index) => cuts.group(watch, key, this.cutAt[index]))
      .filter((group) => group !== undefined);
    if (changedMeanwhile.length > 0) this.write(streamEvents.changes(changedMeanwhile));
    this.isWhole = true;
    this.position = cuts.position;
    this.waiting = 0;
    this.tellCurrent();
  }

  private tellNew(): void {
    const now = performance.now();
    const dueInMs = this.lastNewsAt + this.options.conflateMs - now;
    if (this.options.conflateMs > 0 && dueInMs > 0) {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.pump();
      }, dueInMs).unref();
      return;
    }
    const { cuts } = this.context;
    const event = this.position && cuts.event(this.options.watch, this.position);
    this.position = cuts.position;
    if (event) {
      this.write(event);
      this.lastNewsAt = now;
      this.context.written({ commits: this.waiting, waitedMs: now - (this.newSince ?? now) });
    }
    this.newSince = undefined;
    this.waiting = 0;
  }

  private tellLate(now: number, ageMs: number): void {
    if (this.isLate && now - this.lastEventAt < this.context.times.lateEveryMs) return;
    this.isLate = true;
    this.write(streamEvents.late(ageMs));
  }

  /** How far it is: with what is held back for conflation, the age is that of the last cut. */
  private tellCurrent(): void {
    const { cuts, provenAt } = this.context;
    if (!this.isWhole || !cuts.canCut(this.options.watch)) return;
    const isClean = this.newSince === undefined;
    const position = isClean ? cuts.position : this.position;
    if (!position) return;
    const ageMs = performance.now() - (isClean ? provenAt() : this.wholeUntil);
    this.isLate = false;
    this.write(streamEvents.current(ageMs, cuts.cursor(this.options.watch, position)));
  }

  private write(text: string): void {
    this.lastEventAt = performance.now();
    this.events += 1;
    if (!this.options.response.write(text)) this.blockedSince ??= this.lastEventAt;
  }
}
