import { elapsedMs } from '../../common/moment.js';
import { cutUnread } from '../../http/connections.js';
import type { StreamContext, StreamOptions } from './stream-context.js';
import { streamEvents, type EndReason, type StreamEnd } from './stream-events.js';
import { StreamProgress } from './stream-progress.js';
import type { ScopeWatcher } from './watched-scope.js';

/** One client's stream, from its first event to its last. */
export class MarketStream implements ScopeWatcher {
  private readonly progress = new StreamProgress(this.options, this.context);
  private readonly endsAt: number;
  private provenAt = this.context.feed.provenAt;
  private mayHaveGrown = false;
  private pumpSoon: NodeJS.Immediate | undefined;
  reason: StreamEnd | undefined;

  constructor(
    readonly options: StreamOptions,
    private readonly context: StreamContext,
    private readonly ended: (reason: StreamEnd) => void,
  ) {
    const { lifetimeMs, lifetimeSpread } = context.times;
    this.endsAt = performance.now() + lifetimeMs * (1 + lifetimeSpread * (2 * Math.random() - 1));
  }

  get events(): number {
    return this.progress.events;
  }

  begin(): void {
    const { response } = this.options;
    response.on('drain', () => this.pump());
    // Before the request log's listener for `close`, which reads the reason.
    response.prependOnceListener('close', () =>
      this.markEnded(cutUnread.has(response.req.socket) ? 'unread' : 'left'),
    );
    response.write(streamEvents.retry(500 + Math.floor(2_501 * Math.random())));
    this.pump();
  }

  markNew(): void {
    this.mayHaveGrown = true;
    this.progress.markNew();
    // One pass for all commits that are told in one turn of the event loop.
    this.pumpSoon ??= setImmediate(() => {
      this.pumpSoon = undefined;
      this.pump();
    });
  }

  /** Called at short intervals. */
  tick(now: number): void {
    const { feed, groups, times } = this.context;
    const { watch } = this.options;
    this.pump();
    if (groups.hasAll(watch)) this.provenAt = feed.provenAt;
    const lateMs = now - this.provenAt.monotonicMs;
    const isLate = lateMs > times.lateAfterMs;
    const { progress } = this;
    const isDue = isLate !== progress.isLate || now - progress.toldAgeAt >= times.tellEveryMs;
    if (this.mayHaveGrown && groups.isTooLarge(watch)) this.end('size');
    else if (now > this.endsAt) this.end('age');
    else if (progress.isBlocked) return;
    else if (lateMs > times.endLateAfterMs) this.end('late');
    else if (isDue && isLate) progress.tellLate(elapsedMs(this.provenAt));
    else if (isDue) progress.tellCurrent();
    this.mayHaveGrown = false;
  }

  /** Tells the client why, as the last event. A client that does not read it is cut before long. */
  end(reason: EndReason): void {
    if (this.reason !== undefined) return;
    this.progress.write(streamEvents.end(reason));
    this.options.response.end();
    this.markEnded(reason);
  }

  /** When the last event is written, or the connection is gone. */
  private markEnded(reason: StreamEnd): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.progress.stop();
    this.ended(reason);
  }

  private pump(): void {
    if (this.reason === undefined) this.progress.advance();
  }
}
