import type { HttpLimits } from '../http-limits.js';

/** A queue that stands for so long is no burst: from then on its length is judged. Milliseconds. */
const PERIOD_MS = 350;

/** The rate is lower while many are refused: what it was in earlier periods counts so much. */
const EARLIER = 0.8;

/** How many may wait, to judge by how fast they were served lately. Times are monotonic, in milliseconds. */
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

  /** @param length how many wait at present */
  at(now: number, length: number): number {
    const elapsed = now - this.periodBegan;
    if (length > 0 && elapsed < PERIOD_MS) return this.limit;
    if (length === 0) this.reset();
    else this.judge(elapsed);
    this.periodBegan = now;
    this.served = 0;
    return this.limit;
  }

  private reset(): void {
    this.rate = 0;
    this.limit = this.limits.queueMax;
  }

  private judge(elapsed: number): void {
    const { queueMin, queueMax, servedWithinMs } = this.limits;
    this.rate = Math.max(this.served / elapsed, this.rate * EARLIER);
    this.limit = Math.min(Math.max(queueMin, this.rate * servedWithinMs), queueMax);
  }
}
