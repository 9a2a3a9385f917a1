import type { HttpLimits } from '../http-limits.js';

/** A queue that lasts longer is no burst: its limit is computed anew after each such period. Milliseconds. */
const PERIOD_MS = 350;

/** Refusing many requests lowers the rate for a while. So in each period it may fall to this share at most. */
const EARLIER = 0.8;

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
      this.rate = Math.max(this.served / elapsed, this.rate * EARLIER);
      this.limit = Math.min(Math.max(queueMin, this.rate * servedWithinMs), queueMax);
    } else {
      return this.limit;
    }
    this.periodBegan = now;
    this.served = 0;
    return this.limit;
  }
}
