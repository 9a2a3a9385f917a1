export interface WaitingRules {
  /** So many may always wait. */
  readonly always: number;
  /** So many may wait when they came together: a crowd, a pause or a cold start is no overload. */
  readonly burst: number;
  /** More never wait, however fast it goes. */
  readonly most: number;
  /** A queue that stands for half as long is no burst. From then on as many may wait as are served in this time. Milliseconds. */
  readonly standingMs: number;
}

/**
 * Who waits, in the order of arrival, and whether one more may: not if the wait would be long. Some stand behind all others.
 * Times are monotonic, in ms.
 */
export class WaitingRoom<Visitor> {
  private readonly visitors: Visitor[] = [];
  private readonly ahead: Visitor[] = [];
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
    return this.ahead.length + this.visitors.length + this.behind.length;
  }

  isFull(now: number): boolean {
    if (this.length === 0) this.startCounting(now);
    else this.adjust(now);
    return this.length >= this.places;
  }

  add(visitor: Visitor): void {
    this.visitors.push(visitor);
  }

  /** Has waited already. */
  addAhead(visitor: Visitor): void {
    this.ahead.push(visitor);
  }

  /** Goes after all who come while it waits, too. */
  addBehind(visitor: Visitor): void {
    this.behind.push(visitor);
  }

  next(): Visitor | undefined {
    return this.ahead.shift() ?? this.visitors.shift() ?? this.behind.shift();
  }

  /** That one of them was served, not only called or sent away. */
  countServed(): void {
    this.served += 1;
  }

  private startCounting(now: number): void {
    this.places = Math.max(this.rules.burst, this.places);
    this.served = 0;
    this.countedSince = now;
  }

  private adjust(now: number): void {
    const { always, most, standingMs } = this.rules;
    const elapsed = now - this.countedSince;
    if (elapsed < standingMs / 2) return;
    const servable = Math.ceil((this.served * standingMs) / elapsed);
    this.places = Math.max(always, Math.min(most, servable));
    this.served = 0;
    this.countedSince = now;
  }
}
