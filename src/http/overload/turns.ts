export interface TurnRules {
  /** After so much work at a stretch the sockets are looked at. */
  readonly stretchMs: number;
  /** Where looking takes long itself, the stretch lasts so many times as long. */
  readonly timesLooking: number;
  readonly longestStretchMs: number;
}

/**
 * The turns of the event loop: a look at the sockets, then a stretch of work. A stretch ends early enough that nobody waits long to
 * be looked at, and lasts long enough that looking is not all we do. Times are monotonic, in ms.
 */
export class Turns {
  private isScheduled = false;
  private inStretch = false;
  private lookingSince = 0;
  private stretchEndsAt = 0;
  private hasNewConnection = false;
  private looksOnceMore = false;

  /** @param work begins a stretch; told how long the look before it took */
  constructor(
    private readonly rules: TurnRules,
    private readonly work: (looked: number) => void,
  ) {}

  /** The event loop takes one new connection in each turn: there may be more. */
  connected(): void {
    this.hasNewConnection = true;
    this.schedule();
  }

  /** Before the stretch: only the look after the one that reads a request shows whether its client has left. */
  lookOnceMore(): void {
    this.looksOnceMore = true;
  }

  /** A stretch of work, once the sockets have been read. */
  schedule(now = performance.now()): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    if (!this.inStretch) this.look(now);
    setImmediate(this.take);
  }

  /** How long this look has taken so far. */
  lookedFor(now: number): number {
    return now - this.lookingSince;
  }

  /** Whether there is time to work: while looking, for little. */
  hasTime(now: number): boolean {
    return now < this.stretchEndsAt && !this.hasNewConnection;
  }

  /** What is begun is the last of this stretch. */
  cutShort(now: number): void {
    this.stretchEndsAt = now;
  }

  endStretch(now: number): void {
    this.inStretch = false;
    this.look(now);
  }

  private look(now: number): void {
    this.lookingSince = now;
    this.stretchEndsAt = now + this.rules.stretchMs;
  }

  private readonly take = (): void => {
    const { stretchMs, timesLooking, longestStretchMs } = this.rules;
    const now = performance.now();
    const looked = this.lookedFor(now);
    const looksAgain =
      this.looksOnceMore || (this.hasNewConnection && looked * timesLooking < stretchMs);
    this.looksOnceMore = false;
    this.hasNewConnection = false;
    if (looksAgain) {
      setImmediate(this.take);
      return;
    }
    this.isScheduled = false;
    this.inStretch = true;
    this.stretchEndsAt =
      now + Math.min(Math.max(stretchMs, timesLooking * looked), longestStretchMs);
    this.work(looked);
  };
}
