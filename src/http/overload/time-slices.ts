/** After so much work the event loop looks at the sockets again, so that probes and refusals wait no longer. Milliseconds. */
const SLICE_MS = 5;

/** Where reading the sockets takes long, so many times as much is spent on serving, lest refusing be all we do. */
const TIMES_READING = 3;
const LONGEST_SLICE_MS = 60;

/** Work done in slices, between which the event loop reads the sockets. Times are monotonic, in milliseconds. */
export class TimeSlices {
  private isRequested = false;
  private readingSince = 0;
  private endsAt = 0;

  /** @param workOnce does one piece of work; false when there is none for now */
  constructor(private readonly workOnce: () => boolean) {}

  /** A slice of work, once the sockets have been read. */
  request(now = performance.now()): void {
    if (this.isRequested) return;
    this.isRequested = true;
    this.readingSince = now;
    this.endsAt = now + SLICE_MS;
    setImmediate(this.begin);
  }

  /** Whether work can be done now: while the sockets are read, for as long as a slice. */
  hasTime(now: number): boolean {
    return now < this.endsAt;
  }

  private readonly begin = (): void => {
    const now = performance.now();
    const read = TIMES_READING * (now - this.readingSince);
    this.endsAt = now + Math.min(Math.max(SLICE_MS, read), LONGEST_SLICE_MS);
    this.work();
  };

  private readonly work = (): void => {
    const now = performance.now();
    if (this.hasTime(now) && this.workOnce()) {
      // All that it does without waiting is done by then.
      queueMicrotask(() => process.nextTick(this.work));
      return;
    }
    const isCutShort = !this.hasTime(now);
    this.isRequested = false;
    if (isCutShort) this.request(now);
  };
}
