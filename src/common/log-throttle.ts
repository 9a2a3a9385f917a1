/** Two lines about the same thing are at least this far apart. Milliseconds. */
const INTERVAL_MS = 1_000;

/** Bounds the log lines about something that may happen with every request. */
export class LogThrottle {
  private untold = 0;
  private tell: ((count: number) => void) | undefined;
  private timer: NodeJS.Timeout | undefined;

  /**
   * Counts one event. It is told at once, or with those of a second, when that is over.
   * @param tell logs how many there were; of several events, that of the last is called
   */
  count(tell: (count: number) => void): void {
    this.untold += 1;
    this.tell = tell;
    if (!this.timer) this.flush();
  }

  private flush(): void {
    this.timer = undefined;
    if (this.untold === 0) return;
    this.tell?.(this.untold);
    this.untold = 0;
    this.timer = setTimeout(() => this.flush(), INTERVAL_MS).unref();
  }
}
