/** After so much work the event loop reads the sockets again, for the sake of probes and refusals. Milliseconds. */
const SLICE_MS = 5;

/** A slice lasts this many times as long as reading the sockets took, else a flood leaves time for refusals only. */
const TIMES_READING = 3;
const SLICE_MAX_MS = 60;

/** While clients connect, a slice waits so long: the event loop takes one connection each time it reads the sockets. */
const CONNECTING_MS = 5;

/** Does work in slices, between which the event loop reads the sockets. Times are monotonic, in milliseconds. */
export class TimeSlices {
  private isScheduled = false;
  private readingSince = 0;
  private endsAt = 0;
  private isConnecting = false;

  /** @param workOnce does one piece of work; false when there is none for now */
  constructor(private readonly workOnce: () => boolean) {}

  /** Schedules a slice of work, which begins after the sockets have been read. */
  schedule(now = performance.now()): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.readingSince = now;
    this.endsAt = now + SLICE_MS;
    setImmediate(this.begin);
  }

  /** To be called for each new connection: more may wait to be accepted. */
  connected(): void {
    this.isConnecting = true;
    this.endsAt = 0;
  }

  /** Whether work may be done now: while a slice lasts, and for `SLICE_MS` from when one was scheduled. */
  hasTime(now: number): boolean {
    return now < this.endsAt;
  }

  private readonly begin = (): void => {
    const now = performance.now();
    const readMs = now - this.readingSince;
    const { isConnecting } = this;
    this.isConnecting = false;
    if (isConnecting && readMs < CONNECTING_MS) {
      setImmediate(this.begin);
      return;
    }
    const ms = isConnecting ? SLICE_MS : Math.max(SLICE_MS, TIMES_READING * readMs);
    this.endsAt = now + Math.min(ms, SLICE_MAX_MS);
    this.work();
  };

  private readonly work = (): void => {
    const now = performance.now();
    const hasTime = this.hasTime(now);
    if (hasTime && this.workOnce()) {
      // Behind the microtasks and ticks of the last piece of work, so that their time counts as well.
      queueMicrotask(() => process.nextTick(this.work));
      return;
    }
    this.isScheduled = false;
    if (!hasTime) this.schedule(now);
  };
}
