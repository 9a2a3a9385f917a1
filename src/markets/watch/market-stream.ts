import type { Response } from 'express';
import type { StreamOutcome } from '../../http/api-request.js';
import { EventWriter } from './event-writer.js';
import { streamEvents, type EndReason, type StreamEnd } from './stream-events.js';
import { StreamProgress, type ProgressContext, type ProgressOptions } from './stream-progress.js';
import type { StreamTimes } from './stream-times.js';
import type { ScopeWatcher } from './watched-scope.js';

export interface StreamOptions extends ProgressOptions {
  readonly response: Response;
  readonly keyId: string;
}

/** What a stream needs of the others. */
export interface StreamContext extends ProgressContext {
  readonly times: StreamTimes;
  ended(stream: MarketStream): void;
}

/** One client's stream, from its first event to its last. */
export class MarketStream implements StreamOutcome, ScopeWatcher {
  private readonly writer: EventWriter;
  private readonly progress: StreamProgress;
  private readonly endsAt: number;
  private provenAt: number;
  private mayHaveGrown = false;
  reason: StreamEnd | undefined;

  constructor(
    readonly options: StreamOptions,
    private readonly context: StreamContext,
  ) {
    const { livesMs, livesVary } = context.times;
    this.endsAt = performance.now() + livesMs * (1 + livesVary * (2 * Math.random() - 1));
    this.provenAt = context.provenAt;
    this.writer = new EventWriter(options.response, () => this.pump());
    this.progress = new StreamProgress(this.writer, options, context);
  }

  get events(): number {
    return this.writer.events;
  }

  begin(): void {
    this.writer.write(streamEvents.retry(500 + Math.floor(2_501 * Math.random())));
    this.pump();
  }

  markNew(): void {
    this.mayHaveGrown = true;
    this.progress.markNew();
  }

  pump(): void {
    if (this.reason === undefined) this.progress.advance();
  }

  /** Called at short intervals. */
  tick(now: number): void {
    const { groups, times } = this.context;
    const { watch, response } = this.options;
    if (this.writer.isUnread(now, times.unreadMs)) {
      this.over('unread');
      response.destroy();
      return;
    }
    this.pump();
    if (groups.hasAll(watch)) this.provenAt = this.context.provenAt;
    const lateMs = now - this.provenAt;
    const sinceLastMs = now - this.writer.lastAt;
    const { isLate } = this.progress;
    if (this.mayHaveGrown && groups.isTooLarge(watch)) this.end('size');
    else if (now > this.endsAt) this.end('age');
    else if (this.writer.isBlocked) return;
    else if (lateMs > times.endLateAfterMs) this.end('late');
    else if (lateMs > times.lateAfterMs) {
      if (!isLate || sinceLastMs >= times.lateEveryMs) this.progress.tellLate(lateMs);
    } else if (isLate || sinceLastMs >= times.currentEveryMs) this.progress.tellCurrent();
    this.mayHaveGrown = false;
  }

  /** Tells the client why, as the last event. A client that does not read it is cut before long. */
  end(reason: EndReason): void {
    if (this.reason !== undefined) return;
    this.writer.end(streamEvents.end(reason));
    this.over(reason);
  }

  /** To be called when the last event is written, or the connection is gone. */
  over(reason: StreamEnd): void {
    this.reason ??= reason;
    this.progress.stop();
    this.context.ended(this);
  }
}
