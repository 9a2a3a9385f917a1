import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { FRESH_FOR_MS } from '../../change-feed/freshness.js';
import { behindCursor } from './watch-problems.js';

const LOOK_EVERY_MS = 10;

/** A feed that has fallen behind for a moment is waited for. Milliseconds. */
const LATE_MAX_MS = 300;

/** One that begins only now is waited for longer: without it a caller who comes back starts over. Milliseconds. */
const STARTING_MAX_MS = 1_000;

/** Whether memory can be believed, and as of when. */
@Injectable()
export class FeedCurrency {
  constructor(private readonly feed: ChangeFeed) {}

  /** Whether nothing older than a moment can be missing. */
  get isCurrent(): boolean {
    return this.feed.ageMs <= FRESH_FOR_MS;
  }

  get ageMs(): number {
    return this.feed.ageMs;
  }

  /** The primary has writes that a majority of the members hasn't. */
  get majorityLags(): boolean {
    return this.feed.standing.lateBecause === 'majority_lags';
  }

  /** Every commit up to it has been told. */
  get position(): Timestamp | undefined {
    return this.feed.position;
  }

  /**
   * Waits a little for the feed to be current, and to have got to a position.
   * @param question.after the position
   * @returns whether it is
   * @throws Problem when the position is still ahead
   */
  async reach(question: {
    readonly after: Timestamp | undefined;
    readonly leftMs: number;
  }): Promise<boolean> {
    const since = performance.now();
    for (;;) {
      const waited = performance.now() - since;
      const isAhead = this.isAhead(question.after);
      if (this.isCurrent && !isAhead) return true;
      const { isStarting, standing } = this.feed;
      if (isStarting && waited > STARTING_MAX_MS) return false;
      if (!isStarting && standing.state === 'blind') return false;
      if (isAhead && question.leftMs < 0) throw behindCursor();
      if (!isAhead && !isStarting && waited > LATE_MAX_MS) return false;
      await delay(LOOK_EVERY_MS);
    }
  }

  private isAhead(position: Timestamp | undefined): boolean {
    return position !== undefined && !(this.position && position.lessThanOrEqual(this.position));
  }
}
