/** Counts what may happen with every request and is worth a line in the log only now and then. */
export class LogThrottle {
  private toldAt = -Infinity;
  private untold = 0;

  constructor(
    private readonly intervalMs: number,
    private readonly clock: { now(): number } = performance,
  ) {}

  /** Counts one more. Tells how many there were since it last told; nothing when that was too short ago. */
  count(): number | undefined {
    this.untold += 1;
    const now = this.clock.now();
    if (now - this.toldAt < this.intervalMs) return undefined;
    this.toldAt = now;
    const count = this.untold;
    this.untold = 0;
    return count;
  }
}
