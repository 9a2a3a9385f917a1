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

interface CommitSize {
  readonly events: number;
  readonly bytes: number;
}

const COMMIT_MAX: CommitSize = { events: 10_000, bytes: 32 * 1024 * 1024 };

/** Holds the newest events back until their commit is whole: a transaction may come in several replies. */
export class CommitAssembly {
  private held: ChangeEvent[] = [];
  private bytes = 0;
  private isTooLarge = false;
  private last: ChangeEvent | undefined;

  constructor(private readonly max = COMMIT_MAX) {}

  /** The cluster time of a commit that may not be whole yet. */
  get pending(): Timestamp | undefined {
    return this.last?.clusterTime;
  }

  /**
   * @param events of one reply; none: nothing more belongs to what is held
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
    this.isTooLarge = false;
    this.last = undefined;
  }

  private hold(event: ChangeEvent): void {
    this.last = event;
    if (this.isTooLarge) return;
    // The first event is not measured: most commits have no other, and MongoDB bounds its size.
    if (this.held.length > 0) this.bytes += BSON.calculateObjectSize(event);
    this.held.push(event);
    if (this.held.length <= this.max.events && this.bytes <= this.max.bytes) return;
    this.isTooLarge = true;
    this.held = [];
  }

  private release(): WholeCommit[] {
    const { last, isTooLarge, held } = this;
    this.clear();
    if (!last) return [];
    const { clusterTime, _id: resumeToken } = last;
    return [{ clusterTime, events: isTooLarge ? undefined : held, resumeToken }];
  }
}
