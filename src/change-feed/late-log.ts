import type { Logger } from '@nestjs/common';
import type { FeedStatus } from './feed-progress.js';

/** After this a late feed is logged. Milliseconds. */
const LATE_MS = 2_000;

/** Tells in the log when the feed stays late, and when it is current again. */
export class LateLog {
  private lateSince: number | undefined;
  private isTold = false;

  constructor(private readonly logger: Pick<Logger, 'log' | 'warn'>) {}

  note({ state, lateBecause }: FeedStatus, now = performance.now()): void {
    if (state === 'current') {
      this.lateSince = undefined;
      if (this.isTold) this.logger.log('The change feed is current again');
      this.isTold = false;
      return;
    }
    this.lateSince ??= now;
    if (this.isTold || now - this.lateSince < LATE_MS) return;
    this.isTold = true;
    const why = lateBecause ?? 'no primary is known';
    this.logger.warn(`The change feed is late, answers come from MongoDB: ${why}`);
  }
}
