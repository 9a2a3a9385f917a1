import type { HttpLimits } from '../http-limits.js';

/** A queue that lasts longer is no burst: its limit is computed anew after each such period. Milliseconds. */
const PERIOD_MS = 350;

/** The rate falls to no less than this share of it in a period, since refusing many requests lowers it for a while. */
const RATE_SHARE_MIN = 0.8;

/** How many requests may wait: as many as are served in time at the present rate. Times in monotonic milliseconds. */
export class QueueLimit {
  private periodBegan = 0;
  private served = 0;
  /** How many are served in a millisecond; unknown until a queue has lasted for a period. */
  private rate: number | undefined;

  constructor(private readonly limits: HttpLimits) {}

  countServed(): void {
    this.served += 1;
  }

  /** @param length how many wait now */
  at(now: number, length: number): number {
    const elapsed = now - this.periodBegan;
    if (length === 0 || elapsed >= PERIOD_MS) {
      const rate = Math.max(this.served / elapsed, (this.rate ?? 0) * RATE_SHARE_MIN);
      this.rate = length === 0 ? undefined : rate;
      this.periodBegan = now;
      this.served = 0;
    }
    const { queueMin, queueMax, servedWithinMs } = this.limits;
    const inTime = this.rate === undefined ? queueMax : this.rate * servedWithinMs;
    return Math.min(Math.max(queueMin, inTime), queueMax);
  }
}
