import type { ClusterTime, Timestamp } from 'mongodb';

/** How far back from the newest time others are kept. Milliseconds. */
export const HEARD_KEPT_MS = 2_000;

/** Times heard within this time of one another are kept as one. Milliseconds. */
const APART_MS = 10;

interface Mark {
  readonly clusterTime: ClusterTime;
  /** Monotonic time at which it was heard. */
  readonly heardAt: number;
}

/**
 * The newest write that is known to have been made, by the cluster time that every server passes on with each
 * answer and each heartbeat, and since when it is known. Reads that may fall behind are measured by it.
 */
export class ReadAfterTime {
  private marks: Mark[] = [];
  private lastHeardAt = -Infinity;

  /** Some server has told this time; none in the answers of a standalone server. */
  advance(clusterTime: ClusterTime | undefined): void {
    if (!clusterTime) return;
    const now = performance.now();
    this.lastHeardAt = now;
    const last = this.marks.at(-1);
    if (last && !clusterTime.clusterTime.greaterThan(last.clusterTime.clusterTime)) return;
    const before = this.marks.at(-2);
    if (last && before && last.heardAt - before.heardAt < APART_MS) this.marks.pop();
    this.marks.push({ clusterTime, heardAt: now });
    while (this.marks[1] && this.marks[1].heardAt < now - HEARD_KEPT_MS) this.marks.shift();
  }

  /** The newest time of all, signed: what servers need to believe it. */
  get newest(): ClusterTime | undefined {
    return this.marks.at(-1)?.clusterTime;
  }

  /** The newest time that was known at a recent moment of the monotonic clock; if none was, the newest of all. */
  knownAt(at: number): Timestamp | undefined {
    const mark = this.marks.findLast(({ heardAt }) => heardAt <= at) ?? this.marks.at(-1);
    return mark?.clusterTime.clusterTime;
  }

  /** The newest time that was known `HEARD_KEPT_MS` before the newest of all was heard; the newest, if none was. */
  get knownBeforeNewest(): Timestamp | undefined {
    const newestAt = this.marks.at(-1)?.heardAt ?? 0;
    return this.knownAt(newestAt - HEARD_KEPT_MS);
  }

  /** How long ago any server was heard, in milliseconds. */
  get silentMs(): number {
    return performance.now() - this.lastHeardAt;
  }
}
