import type { Timestamp } from 'mongodb';

/** What is told counts as complete for so long; what callers are promised is 250 ms. */
export const FRESH_FOR_MS = 200;

interface Mark {
  /** Everything that was written before `at` has at most this cluster time. */
  readonly clusterTime: Timestamp;
  readonly at: number;
}

/** More marks than this are not kept: a stream that far behind is of no use anyway. */
const MARKS_MAX = 1_000;

/**
 * Knows how old what a stream has told may be. A server's answer carries the cluster time of its newest
 * write: once the stream has told everything up to there, it was complete as of the time at which that
 * answer was asked for. Times are monotonic milliseconds, taken before asking: an answer that lay unread
 * while the process was stopped proves nothing newer.
 */
export class Freshness {
  private marks: Mark[] = [];
  private completeAsOf = -Infinity;

  /** Everything written before `at` has at most `clusterTime`. */
  mark(clusterTime: Timestamp, at: number): void {
    this.marks.push({ clusterTime, at });
    if (this.marks.length > MARKS_MAX) this.marks.shift();
  }

  /** Everything up to and with `clusterTime` has been told. */
  told(clusterTime: Timestamp): void {
    while (this.marks[0] && !this.marks[0].clusterTime.greaterThan(clusterTime)) {
      this.completeAsOf = Math.max(this.completeAsOf, this.marks.shift()?.at ?? -Infinity);
    }
  }

  /** Nothing is known any more. */
  blind(): void {
    this.marks = [];
    this.completeAsOf = -Infinity;
  }

  /** How long ago the stream was known to be complete, in milliseconds. */
  ageMs(now: number = performance.now()): number {
    return now - this.completeAsOf;
  }
}
