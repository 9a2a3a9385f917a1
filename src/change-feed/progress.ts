import type { Timestamp } from 'mongodb';
import { elapsedMs, momentNow, type Moment } from '../common/moment.js';
import { Freshness, FRESH_FOR_MS } from './freshness.js';

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
export type LateReason = (typeof LATE_REASONS)[number];

export interface Standing {
  readonly state: (typeof FEED_STATES)[number];
  readonly lateBecause?: LateReason;
  /** How long ago it was known that everything had been told, in milliseconds; infinite while blind. */
  readonly ageMs: number;
}

/** How far the feed and the majority of the members have got, against the newest write of the primary. */
export class Progress {
  private readonly told = new Freshness();
  private readonly committed = new Freshness();
  private answeredAt: Moment | undefined;

  /** No write that was made before `askedAt` is newer than `newest`. */
  mark(newest: Timestamp, askedAt: Moment): void {
    this.answeredAt = askedAt;
    this.told.mark(newest, askedAt);
    this.committed.mark(newest, askedAt);
  }

  /** All up to `told` was told; a majority has all up to `committed`. */
  reached(upTo: { readonly told: Timestamp; readonly committed: Timestamp }): void {
    this.told.reached(upTo.told);
    this.committed.reached(upTo.committed);
  }

  ageMs(now?: Moment): number {
    return this.told.ageMs(now);
  }

  /**
   * How long the primary had had writes that a majority of the members hadn't, when it was last asked: at least
   * this, in milliseconds.
   */
  get majorityLagMs(): number {
    return this.answeredAt ? this.committed.ageMs(this.answeredAt) : 0;
  }

  standing(now = momentNow()): Standing {
    const ageMs = this.ageMs(now);
    if (!this.answeredAt) return { state: 'blind', ageMs };
    if (ageMs <= FRESH_FOR_MS) return { state: 'current', ageMs };
    return { state: 'late', lateBecause: this.lateBecause(this.answeredAt, now), ageMs };
  }

  private lateBecause(answeredAt: Moment, now: Moment): LateReason {
    if (this.majorityLagMs > FRESH_FOR_MS) return 'majority_lags';
    return elapsedMs(answeredAt, now) > FRESH_FOR_MS ? 'no_answer' : 'backlog';
  }
}
