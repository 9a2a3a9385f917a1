export interface WaitingRules {
  /** So many may always wait. */
  readonly always: number;
  /** So many may wait when they came together: a crowd, a pause or a cold start is no overload. */
  readonly burst: number;
  /** A queue that stands longer is no burst. From then on as many may wait as are served in this time. Milliseconds. */
  readonly standingMs: number;
}

/**
 * Who waits, in the order of arrival, and whether one more may: not if the wait would be long. Some stand behind all others.
 * Times are monotonic, in ms.
 */
export class WaitingRoom<Visitor> {
  private readonly visitors: Visitor[] = [];
  private readonly behind: Visitor[] = [];
  private readonly rules: WaitingRules;
  private places: number;
  private served = 0;
  private countedSince = 0;

  constructor(rules: WaitingRules) {
    this.rules = rules;
    this.places = rules.burst;
  }

  get length(): number {
    return this.visitors.length + this.behind.length;
  }

  isFull(now: number): boolean {
    if (this.length === 0) this.startCounting(now);
    else this.adjust(now);
    return this.length >= this.places;
  }

  add(visitor: Visitor): void {
    this.visitors.push(visitor);
  }

  /** Goes after all who come while it waits, too. */
  addBehind(visitor: Visitor): void {
    this.behind.push(visitor);
  }

  next(): Visitor | undefined {
    this.served += 1;
    return this.visitors.shift() ?? this.behind.shift();
  }

  private startCounting(now: number): void {
    this.places = this.rules.burst;
    this.served = 0;
    this.countedSince = now;
  }

  private adjust(now: number): void {
    const { always, burst, standingMs } = this.rules;
    const elapsed = now - this.countedSince;
    if (elapsed < standingMs) return;
    const servable = Math.ceil((this.served * standingMs) / elapsed);
    this.places = Math.max(always, Math.min(burst, servable));
    this.served = 0;
    this.countedSince = now;
  }
}
