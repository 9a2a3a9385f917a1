/** Bounds the lines of the log for what may happen with every request. */
export class LogThrottle {
  private toldAt = -Infinity;
  private untold = 0;

  constructor(private readonly intervalMs: number) {}

  /** Counts one more; gives the number since the last line when another line is due, else nothing. */
  count(): number | undefined {
    this.untold += 1;
    const now = performance.now();
    if (now - this.toldAt < this.intervalMs) return undefined;
    this.toldAt = now;
    const count = this.untold;
    this.untold = 0;
    return count;
  }
}
