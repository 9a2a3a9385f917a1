import { BSON, type Timestamp } from 'mongodb';
import type { ChangeEvent } from './change.js';

/** The events with one cluster time. */
export interface CommitEvents {
  /** Undefined when they were too many to be held. */
  events: ChangeEvent[] | undefined;
  /** The newest of them: after a break the feed resumes behind it. */
  last: ChangeEvent;
}

/** Of a commit above one of these bounds no events are held. */
const EVENTS_MAX = 10_000;
const BYTES_MAX = 32 * 1024 * 1024;

/** Holds the newest events back until their commit is whole: a transaction may come in several replies. */
export class CommitAssembly {
  private held: CommitEvents | undefined;
  /** The bytes of its second event and all later ones. Most commits have only one, and MongoDB bounds its size. */
  private bytes = 0;

  /** The cluster time of a commit that may not be whole yet. */
  get pending(): Timestamp | undefined {
    return this.held?.last.clusterTime;
  }

  /**
   * @param events of one reply; with no events the commit that is held is known to be whole
   * @param streamAt the stream has told everything before this cluster time
   * @returns the commits that are whole now, in their order
   */
  add(events: readonly ChangeEvent[], streamAt: Timestamp): CommitEvents[] {
    const whole: CommitEvents[] = [];
    for (const event of events) {
      if (this.held?.last.clusterTime.equals(event.clusterTime)) {
        this.join(this.held, event);
        continue;
      }
      if (this.held) whole.push(this.held);
      this.held = { events: [event], last: event };
      this.bytes = 0;
    }
    if (this.held && (events.length === 0 || streamAt.greaterThan(this.held.last.clusterTime))) {
      whole.push(this.held);
      this.clear();
    }
    return whole;
  }

  clear(): void {
    this.held = undefined;
  }

  private join(commit: CommitEvents, event: ChangeEvent): void {
    commit.last = event;
    if (!commit.events) return;
    this.bytes += bytesOf(event);
    commit.events.push(event);
    if (commit.events.length > EVENTS_MAX || this.bytes > BYTES_MAX) commit.events = undefined;
  }
}

/** What the driver can't measure counts as too large: it takes a value with a field `_bsontype` for one of its own. */
function bytesOf(event: ChangeEvent): number {
  try {
    return BSON.calculateObjectSize(event);
  } catch {
    return Infinity;
  }
}
