import type { Timestamp } from 'mongodb';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import type { Cursor } from './cursor.js';
import type { Watch } from './watch.js';

/** From the arrival of a request to its answer: all that is waited for and read shares it. Milliseconds. */
const ANSWER_WITHIN_MS = 1_800;

/** What a caller asks: which markets, what is new since when, and until when it must be answered. */
export class WatchQuestion {
  private readonly deadline: number;

  /** @param askedAt monotonic time of the request's arrival */
  constructor(
    readonly watch: Watch,
    private readonly cursor: Cursor | undefined,
    askedAt: number,
  ) {
    this.deadline = askedAt + ANSWER_WITHIN_MS;
  }

  /** The answer shows nothing from before it, whatever the caller watched then. */
  get after(): Timestamp | undefined {
    return this.cursor?.position;
  }

  /** Where its caller has got to with this very watch. */
  get since(): Timestamp | undefined {
    return this.cursor?.watchHash === this.watch.hash ? this.after : undefined;
  }

  get leftMs(): number {
    return this.deadline - performance.now();
  }

  /** What a read from MongoDB may take. */
  get readMs(): number {
    return Math.min(READ_BUDGET_MS.markets, this.leftMs);
  }
}
