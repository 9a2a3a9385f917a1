import { Injectable } from '@nestjs/common';
import { FeedCurrency } from './feed-currency.js';
import { PastChanges } from './past-changes.js';
import { WatchLoader } from './watch-loader.js';
import type { Untold } from './watch-problems.js';
import type { WatchQuestion } from './watch-question.js';

/** What both ways of a watch begin with: all of it in memory, and what was missed known, as far as can be in time. */
@Injectable()
export class WatchOpening {
  constructor(
    private readonly currency: FeedCurrency,
    private readonly loader: WatchLoader,
    private readonly past: PastChanges,
  ) {}

  /**
   * @returns why memory can't tell, if it can't
   * @throws Problem when there is too much, or nothing can be told now
   */
  async open(question: WatchQuestion): Promise<Untold | undefined> {
    if (!(await this.currency.reach(question))) return 'blind';
    const untold = await this.loader.load(question);
    if (!untold) await this.past.known(question);
    return untold;
  }
}
