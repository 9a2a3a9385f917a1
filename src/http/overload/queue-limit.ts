import type { HttpLimits } from '../http-limits.js';

/** A queue that lasts longer is no burst: its limit is computed anew after each such period. Milliseconds. */
const PERIOD_MS = 350;

/** The rate falls to no less than this share of it in a period, since refusing many requests lowers it for a while. */
const RATE_SHARE_MIN = 0.8;

/** How many requests may wait: as many as are served in time at the present rate. Times in monotonic milliseconds. */
export class QueueLimit {
  private limit: number;
  private periodBegan = 0;
  private served = 0;
  private rate = 0;

  constructor(private readonly limits: HttpLimits) {
    this.limit = limits.queueMax;
  }

  countServed(): void {
    this.served += 1;
  }

  /** @param length how many wait now */
  at(now: number, length: number): number {
    const { queueMin, queueMax, servedWithinMs } = this.limits;
    const elapsed = now - this.periodBegan;
    if (length === 0) {
      this.rate = 0;
      this.limit = queueMax;
    } else if (elapsed >= PERIOD_MS) {
      this.rate = Math.max(this.served / elapsed, this.rate * RATE_SHARE_MIN);
      this.limit = Math.min(Math.max(queueMin, this.rate * servedWithinMs), queueMax);
    } else {
      return this.limit;
    }
    this.periodBegan = now;
    this.served = 0;
    return this.limit;
  }
}
