import type { Timestamp } from 'mongodb';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import { NO_POSITION, type Cursor } from './cursor.js';
import type { Watch } from './watch.js';

/** The time from a request to its answer, shared by everything that is waited for and read. Milliseconds. */
const WATCH_WITHIN_MS = 1_800;

/** How much of it is left for the answer itself after all waiting. Milliseconds. */
const ANSWER_MS = 300;

/** What a client asks: which markets, since when, and by when it must be answered. */
export class WatchQuestion {
  /** The answer must not show a state before this position, whatever the cursor was for. */
  readonly afterClusterTime: Timestamp | undefined;
  /** The position that the client has reached with the same watch, if answers can go on from it. */
  readonly since: Timestamp | undefined;
  /** Whether only the feed can answer: MongoDB alone can neither stream markets nor tell what is new since a cursor. */
  readonly needsFeed: boolean;
  private readonly deadline: number;

  /** @param askedAt monotonic time of the request's arrival */
  constructor(
    readonly watch: Watch,
    cursor: Cursor | undefined,
    askedAt: number,
    isStream = false,
  ) {
    this.afterClusterTime = cursor?.position;
    const isResumable = cursor?.watchHash === watch.hash && !cursor.position.equals(NO_POSITION);
    this.since = isResumable ? cursor.position : undefined;
    this.needsFeed = isStream || isResumable;
    this.deadline = askedAt + WATCH_WITHIN_MS;
  }

  /** How long a read from MongoDB may take. */
  get readMs(): number {
    return Math.min(READ_BUDGET_MS.markets, this.deadline - performance.now());
  }

  /** How long it may wait for something before its answer is made. */
  get waitMs(): number {
    return this.deadline - ANSWER_MS - performance.now();
  }
}
