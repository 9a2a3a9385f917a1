import type { Timestamp } from 'mongodb';
import { elapsedMs, momentNow, type Moment } from '../common/moment.js';

/** What was complete so long ago counts as fresh; callers are promised 250 ms. */
export const FRESH_FOR_MS = 200;

interface Mark {
  /** Everything that was written before `at` has at most this cluster time. */
  readonly clusterTime: Timestamp;
  readonly at: Moment;
}

/** At more marks than this every second one is dropped, which only makes the age coarser. */
const MARKS_MAX = 1_000;

/**
 * Knows how old something that follows a server's writes may be. A mark says which write was the newest at a
 * moment: once the follower has got there, it was complete as of that moment. The moment is taken before the
 * server is asked: an answer that lay unread while the process was stopped proves nothing newer.
 */
export class Freshness {
  private marks: Mark[] = [];
  private upTo: Timestamp | undefined;
  private completeAsOf: Moment | undefined;

  /** Everything written before `at` has at most `clusterTime`. */
  mark(clusterTime: Timestamp, at: Moment): void {
    // A later mark with the same or an older write says more than an earlier one, which goes.
    const older = this.marks.findLastIndex((mark) => mark.clusterTime.lessThan(clusterTime));
    this.marks.splice(older + 1);
    this.marks.push({ clusterTime, at });
    if (this.marks.length > MARKS_MAX)
      this.marks = this.marks.filter((_, index) => index % 2 === 0);
    if (this.upTo) this.reached(this.upTo);
  }

  /** The follower has got to `clusterTime`. */
  reached(clusterTime: Timestamp): void {
    this.upTo = clusterTime;
    const ahead = this.marks.findIndex((mark) => mark.clusterTime.greaterThan(clusterTime));
    const passed = this.marks.splice(0, ahead < 0 ? this.marks.length : ahead);
    this.completeAsOf = passed.at(-1)?.at ?? this.completeAsOf;
  }

  /** How long ago the follower was known to be complete, in milliseconds. */
  ageMs(now: Moment = momentNow()): number {
    return this.completeAsOf ? elapsedMs(this.completeAsOf, now) : Infinity;
  }
}
