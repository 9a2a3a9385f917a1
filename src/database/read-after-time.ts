import type { ClusterTime, Timestamp } from 'mongodb';
import { DRIVER_OPTIONS } from './driver-options.js';
import { databaseUnavailable } from './read-errors.js';

/** How long earlier times are kept, counted back from now. Milliseconds. */
export const HEARD_KEPT_MS = 2_000;

/** Times heard within this time of one another are kept as one. Milliseconds. */
const APART_MS = 10;

/** A secondary must have what was known to be written so long ago. Milliseconds. */
const SECONDARY_BEHIND_MS = 1_000;

/** Heartbeats tell within this time what was written. Milliseconds. */
const KNOWN_AFTER_MS = DRIVER_OPTIONS.heartbeatFrequencyMS;

/** How old what a secondary answers may be at most, in milliseconds. */
export const SECONDARY_AGE_MS = SECONDARY_BEHIND_MS + KNOWN_AFTER_MS;

/** From getting its time to its end, a write takes less than this. Milliseconds. */
const WRITTEN_WITHIN_MS = 400;

/** When no server has been heard for longer, nothing is known of what was written. Milliseconds. */
const SILENT_MAX_MS = 1_500;

/** A secondary that is this far behind answers only if nothing was written in between. Seconds. */
const FAR_BEHIND_S = HEARD_KEPT_MS / 1_000;

interface HeardTime {
  readonly clusterTime: Timestamp;
  /** Monotonic time at which it was heard. */
  readonly heardAt: number;
}

/**
 * The newest write that is known to have been made, by the cluster time that every server passes on with each
 * reply and each heartbeat, and since when it is known. Reads that may fall behind are measured by it.
 */
export class ReadAfterTime {
  /** The newest time of all, with its signature, without which servers don't accept it. */
  newest: ClusterTime | undefined;
  private heard: HeardTime[] = [];
  private lastHeardAt = -Infinity;
  /** Times that were heard before this may have been old: they came before a gap, or from too few servers. */
  private knownSince = -Infinity;
  /** Between these times, the later one included, the primary has written nothing. */
  private unwritten: { readonly after: Timestamp; readonly upTo: Timestamp } | undefined;

  /** Some server has told this time; none in the replies of a standalone server. */
  advance(time: ClusterTime | undefined): void {
    if (!time) return;
    const now = performance.now();
    if (now - this.lastHeardAt > SILENT_MAX_MS) this.beginAnew();
    this.lastHeardAt = now;
    const { clusterTime } = time;
    if (this.newest && !clusterTime.greaterThan(this.newest.clusterTime)) return;
    this.newest = time;
    const before = this.heard.at(-2);
    if (before && now - before.heardAt < APART_MS) this.heard.pop();
    this.heard.push({ clusterTime, heardAt: now });
    while (this.heard[1] && this.heard[1].heardAt < now - HEARD_KEPT_MS) this.heard.shift();
  }

  /**
   * To be called with the newest write that a primary tells. Later times that were heard some time before are not those
   * of writes: failed inserts and transactions advance the cluster time, too.
   */
  noteNewestWrite(newestWrite: Timestamp): void {
    const settledAt = performance.now() - WRITTEN_WITHIN_MS;
    const upTo = this.heard.findLast(({ heardAt }) => heardAt <= settledAt)?.clusterTime;
    this.unwritten = upTo?.greaterThan(newestWrite) ? { after: newestWrite, upTo } : undefined;
  }

  /** To be called when servers can be read again after a gap: what was heard before it may be too old. */
  beginAnew(): void {
    this.knownSince = performance.now();
  }

  /** The newest time that was known at a recent moment of the monotonic clock; if none was, the newest of all. */
  knownAt(at: number): Timestamp | undefined {
    const earlier = this.heard.findLast(({ heardAt }) => heardAt <= at && at >= this.knownSince);
    return (earlier ?? this.heard.at(-1))?.clusterTime;
  }

  /**
   * The write that a secondary must have in order to answer while no primary can be asked. If any secondary knows a
   * primary, that is the newest write known a second ago, since that primary may go on writing unseen. If none does,
   * the last writes may be lost with the primary, and the newest write on any secondary is enough.
   * @throws Problem when no secondary can be proven to be recent
   */
  minimumForSecondaries(
    newestOnSecondaries: Timestamp | undefined,
    secondariesNamePrimary: boolean,
  ): Timestamp {
    const last = this.heard.at(-1);
    const now = performance.now();
    if (!last || !newestOnSecondaries || now - this.lastHeardAt > SILENT_MAX_MS)
      throw databaseUnavailable();
    const newest = last.clusterTime;
    const behindS = newest.t - newestOnSecondaries.t;
    const writtenBy = (at: number) =>
      this.lastWriteUpTo(this.knownAt(at) ?? newest, newestOnSecondaries);
    // After a quiet time a new primary's first write is seconds later than the last one, which members up to date have.
    const before = writtenBy(last.heardAt - HEARD_KEPT_MS);
    if (behindS >= FAR_BEHIND_S && before.greaterThan(newestOnSecondaries))
      throw databaseUnavailable();
    const due = writtenBy(now - SECONDARY_BEHIND_MS);
    const isLost = !secondariesNamePrimary && due.greaterThan(newestOnSecondaries);
    return isLost ? newestOnSecondaries : due;
  }

  /** The time itself, unless the primary is known to have written nothing since an earlier one. */
  private lastWriteUpTo(time: Timestamp, newestOnSecondaries: Timestamp): Timestamp {
    const { after, upTo } = this.unwritten ?? {};
    if (!after || !upTo || time.lessThanOrEqual(after) || time.greaterThan(upTo)) return time;
    // A newer primary may have written in between.
    return newestOnSecondaries.greaterThan(after) ? time : after;
  }
}
