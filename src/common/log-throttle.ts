/** Two lines about the same thing are at least this far apart. Milliseconds. */
const INTERVAL_MS = 1_000;

/** Bounds the log lines about something that may happen with every request. */
export class LogThrottle {
  private toldAt = -Infinity;
  private untold = 0;

  /** Counts one event. If another line is due, returns how many events came since the last line. */
  count(): number | undefined {
    this.untold += 1;
    const now = performance.now();
    if (now - this.toldAt < INTERVAL_MS) return undefined;
    this.toldAt = now;
    const count = this.untold;
    this.untold = 0;
    return count;
  }
}
