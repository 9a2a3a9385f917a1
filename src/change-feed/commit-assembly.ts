import { BSON, type Timestamp } from 'mongodb';
import type { ChangeEvent } from './change.js';
import type { ResumeToken } from './cluster-time.js';

/** All events with one cluster time. */
export interface WholeCommit {
  readonly clusterTime: Timestamp;
  /** Missing when they were too many to be held. */
  readonly events: readonly ChangeEvent[] | undefined;
  /** Where to go on after it. */
  readonly resumeToken: ResumeToken;
}

/** Of a larger commit no events are held. */
const EVENTS_MAX = 10_000;
const BYTES_MAX = 32 * 1024 * 1024;

/** Holds the newest events back until their commit is whole: a transaction may come in several replies. */
export class CommitAssembly {
  /** Undefined when there are too many to be held. */
  private held: ChangeEvent[] | undefined = [];
  private bytes = 0;
  private last: ChangeEvent | undefined;

  /** The cluster time of a commit that may not be whole yet. */
  get pending(): Timestamp | undefined {
    return this.last?.clusterTime;
  }

  /**
   * @param events of one reply; an empty one makes the commit that is held whole
   * @param streamAt the stream has told everything before this cluster time
   * @returns the commits that are whole now, in their order
   */
  add(events: readonly ChangeEvent[], streamAt: Timestamp): WholeCommit[] {
    const whole: WholeCommit[] = [];
    for (const event of events) {
      if (this.pending?.equals(event.clusterTime) === false) whole.push(...this.release());
      this.hold(event);
    }
    const isWhole = events.length === 0 || (this.pending && streamAt.greaterThan(this.pending));
    return isWhole ? [...whole, ...this.release()] : whole;
  }

  clear(): void {
    this.held = [];
    this.bytes = 0;
    this.last = undefined;
  }

  private hold(event: ChangeEvent): void {
    this.last = event;
    if (!this.held) return;
    // The first event is not measured: most commits have no other, and MongoDB bounds its size.
    if (this.held.length > 0) this.bytes += bytesOf(event);
    this.held.push(event);
    if (this.held.length > EVENTS_MAX || this.bytes > BYTES_MAX) this.held = undefined;
  }

  private release(): WholeCommit[] {
    const { last, held: events } = this;
    this.clear();
    return last ? [{ clusterTime: last.clusterTime, events, resumeToken: last._id }] : [];
  }
}

/** What the driver can't measure counts as too large: it takes any value with a field `_bsontype` for one of its own. */
function bytesOf(event: ChangeEvent): number {
  try {
    return BSON.calculateObjectSize(event);
  } catch {
    return Infinity;
  }
}
