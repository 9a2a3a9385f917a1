import type { Timestamp } from 'mongodb';
import { elapsedMs, momentNow, type Moment } from '../common/moment.js';

/** A feed that was complete so long ago counts as current; callers are promised 250 ms. Milliseconds. */
export const FRESH_FOR_MS = 200;

/**
 * `current`: nothing older than FRESH_FOR_MS can be missing. `late`: it tells changes, but more may be missing.
 * `blind`: it tells nothing.
 */
export const FEED_STATES = ['current', 'late', 'blind'] as const;

/**
 * `majority_lags`: the primary has writes that a majority of the members hasn't, and only what a majority has is
 * told. `no_answer`: MongoDB is silent, or this process was. `backlog`: more changes than can be told in time.
 */
export const LATE_REASONS = ['majority_lags', 'no_answer', 'backlog'] as const;
type LateReason = (typeof LATE_REASONS)[number];

export interface FeedStatus {
  readonly state: (typeof FEED_STATES)[number];
  readonly lateBecause?: LateReason;
  /** How long ago everything was known to have been told, in milliseconds; infinite while that is not known. */
  readonly ageMs: number;
}

interface Mark {
  /** Everything that was written before `at` has at most this cluster time. */
  readonly clusterTime: Timestamp;
  readonly at: Moment;
}

/** At more marks than this every second one is dropped, which only makes the ages coarser. */
const MARKS_MAX = 1_000;

/**
 * How far the feed and the majority of the members have got, against the newest write of the primary. A mark says which
 * write was the newest at a moment: a feed that has told that write was complete as of that moment. The moment is taken
 * before the server is asked, since a reply may have lain unread while the process was stopped.
 */
export class FeedProgress {
  private marks: Mark[] = [];
  private toldUpTo: Timestamp | undefined;
  private majorityAt: Timestamp | undefined;
  private lastAskedAt: Moment | undefined;
  /** All that was written before this moment was told; undefined while no such moment is known. */
  provenAt: Moment | undefined;

  /** No write that was made before `askedAt` is newer than `clusterTime`. */
  mark(clusterTime: Timestamp, askedAt: Moment): void {
    this.lastAskedAt = askedAt;
    // Marks with this write or a newer one go: the new mark says the same of a later moment.
    const older = this.marks.findLastIndex((mark) => mark.clusterTime.lessThan(clusterTime));
    this.marks.splice(older + 1);
    this.marks.push({ clusterTime, at: askedAt });
    if (this.marks.length > MARKS_MAX) this.marks = this.marks.filter((_, at) => at % 2 === 0);
    this.dropReachedMarks();
  }

  /** All up to `toldUpTo` was told; a majority has all up to `majorityAt`. */
  reached(toldUpTo: Timestamp, majorityAt: Timestamp): void {
    this.toldUpTo = toldUpTo;
    this.majorityAt = majorityAt;
    this.dropReachedMarks();
  }

  ageMs(now = momentNow()): number {
    return this.provenAt ? elapsedMs(this.provenAt, now) : Infinity;
  }

  /** How long ago it was last known to be complete; where it never was, the age of the oldest mark. Milliseconds. */
  behindMs(now = momentNow()): number {
    const since = this.provenAt ?? this.marks[0]?.at;
    return since ? elapsedMs(since, now) : 0;
  }

  /**
   * When the primary was last asked, a majority of the members had lacked some of its writes for at least so long; 0 if
   * none. Milliseconds.
   */
  get majorityLagMs(): number {
    if (!this.lastAskedAt) return 0;
    const isCommitted = ({ clusterTime }: Mark) => this.majorityAt?.greaterThanOrEqual(clusterTime);
    const committedAsOf = this.marks.findLast(isCommitted)?.at ?? this.provenAt;
    return committedAsOf ? elapsedMs(committedAsOf, this.lastAskedAt) : Infinity;
  }

  status(now = momentNow()): FeedStatus {
    const ageMs = this.ageMs(now);
    if (!this.lastAskedAt) return { state: 'blind', ageMs };
    if (ageMs <= FRESH_FOR_MS) return { state: 'current', ageMs };
    return { state: 'late', lateBecause: this.lateBecause(this.lastAskedAt, now), ageMs };
  }

  private dropReachedMarks(): void {
    while (this.toldUpTo && this.marks[0]?.clusterTime.lessThanOrEqual(this.toldUpTo)) {
      this.provenAt = this.marks.shift()?.at;
    }
  }

  private lateBecause(lastAskedAt: Moment, now: Moment): LateReason {
    if (this.majorityLagMs > FRESH_FOR_MS) return 'majority_lags';
    return elapsedMs(lastAskedAt, now) > FRESH_FOR_MS ? 'no_answer' : 'backlog';
  }
}
