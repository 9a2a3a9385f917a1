/** Times in milliseconds. */
export interface PlaceRules {
  /** So many may always wait. */
  readonly always: number;
  /** So many may wait when they came together: a crowd, a pause or a cold start is no overload. */
  readonly burst: number;
  /** More never wait, however fast it goes. */
  readonly most: number;
  /** What is served is counted for so long at a time. A queue that stands for two such periods is no burst. */
  readonly periodMs: number;
  /** The rate is the best of so many periods: it is lower in those in which refusing took the time. */
  readonly periods: number;
  /** From then on as many may be here, waiting or under way, as are served in this time. */
  readonly answeredInMs: number;
  /** If more leave than this share of those who are served, they waited too long: the time becomes half of what they did. */
  readonly leaving: number;
  /** It doubles again in so long. */
  readonly doublesInMs: number;
}

/** How many may wait: a queue that would be longer than it is of use is no help to anybody. Times are monotonic, in ms. */
export class Places {
  private count: number;
  private periodBegan = 0;
  private served = 0;
  /** Served per ms in the last periods. */
  private rates: readonly number[] = [];
  private left = 0;
  private leftAfterMs = 0;
  private shortened = { at: -Infinity, toMs: Infinity };

  constructor(private readonly rules: PlaceRules) {
    this.count = rules.burst;
  }

  /**
   * How many may wait, judged anew when a period is over.
   *
   * @param waiting those who do at present
   * @param underWay those who are being served: their time counts, too
   */
  forWaiting(now: number, { waiting, underWay }: { waiting: number; underWay: number }): number {
    if (waiting === 0) {
      this.count = Math.max(this.rules.burst, this.count);
      this.beginPeriod(now);
    } else if (now - this.periodBegan >= this.rules.periodMs) {
      this.judge(now, underWay);
      this.beginPeriod(now);
    }
    return this.count;
  }

  countServed(): void {
    this.served += 1;
  }

  /** That one had left when its turn came. */
  countLeft(since: number, now: number): void {
    // Before, all waited too long, as we know already.
    if (since < this.shortened.at) return;
    this.left += 1;
    this.leftAfterMs += now - since;
  }

  private judge(now: number, underWay: number): void {
    const { always, leaving, most, periods } = this.rules;
    this.rates = [...this.rates, this.served / (now - this.periodBegan)].slice(-periods);
    if (this.left > this.served * leaving) {
      this.shortened = { at: now, toMs: this.leftAfterMs / this.left / 2 };
    }
    if (this.rates.length < 2) return;
    const servable = Math.ceil(Math.max(...this.rates) * this.answeredInMs(now)) - underWay;
    this.count = Math.max(always, Math.min(most, servable));
  }

  private answeredInMs(now: number): number {
    const { answeredInMs, doublesInMs } = this.rules;
    const { at, toMs } = this.shortened;
    return Math.min(answeredInMs, toMs * 2 ** ((now - at) / doublesInMs));
  }

  private beginPeriod(now: number): void {
    this.periodBegan = now;
    this.served = 0;
    this.left = 0;
    this.leftAfterMs = 0;
  }
}
