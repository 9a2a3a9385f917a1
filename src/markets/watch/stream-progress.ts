import type { Timestamp } from 'mongodb';
import { elapsedMs, type Moment } from '../../common/moment.js';
import { lengthOf } from '../compression.js';
import type { StreamContext, StreamOptions } from './stream-context.js';
import { streamEvents } from './stream-events.js';

/** Bytes that a change may add to an event: whether an event with many is large is judged before it is made. */
const CHANGE_BYTES = 2_600;

/** Changes that the client has not been told yet. */
interface Pending {
  /** The client knows everything up to it. */
  readonly position: Timestamp | undefined;
  /** When the feed had last been known to be complete at that position. */
  readonly provenAt: Moment;
  /** When this process was told the first of them. */
  readonly toldAt: number;
  changes: number;
}

/**
 * How far the client of a stream has got, and the events that bring it further. There is no queue: changes since its
 * position are put together when its socket can take them, so that a slow reader gets the newest state.
 */
export class StreamProgress {
  /** How many ids the client has been told so far: a snapshot of each, or what it missed. */
  private scopesTold = 0;
  /** Whether all ids have been told, and what changed meanwhile, so that the client has one state of all. */
  private isCaughtUp = false;
  /** Where the feed was when the client began to catch up. */
  private caughtUpFrom: Timestamp | undefined;
  private pending: Pending | undefined;
  private lastChangesAt = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  /** Monotonic time of the last `current` or `late`. */
  toldAgeAt = -Infinity;
  isLate = false;
  events = 0;

  constructor(
    private readonly options: StreamOptions,
    private readonly context: StreamContext,
  ) {}

  /** Whether the socket is full: `drain` of the response tells when it is not any more. */
  get isBlocked(): boolean {
    return this.options.response.writableNeedDrain;
  }

  /** Writes an event, in one piece or several. */
  write(...pieces: readonly (string | Buffer)[]): void {
    this.events += 1;
    for (const piece of pieces) this.options.response.write(piece);
  }

  markNew(): void {
    if (!this.isCaughtUp) return;
    const { position, provenAt } = this.context.feed;
    this.pending ??= { position, provenAt, toldAt: performance.now(), changes: 0 };
    this.pending.changes += 1;
  }

  /** Writes what is new, if the socket can take it. */
  advance(): void {
    if (this.isBlocked || !this.context.groups.hasAll(this.options.watch)) return;
    if (!this.isCaughtUp) this.catchUp();
    else if (this.pending) this.tellChanges(this.pending);
    this.context.unsentEvents.wrote(this.options);
  }

  /** Says up to when the client knows everything: while changes are held back, up to the last moment before them. */
  tellCurrent(): void {
    const { feed, groups } = this.context;
    const { watch } = this.options;
    if (!this.isCaughtUp || !groups.hasAll(watch)) return;
    const known = this.pending ?? feed;
    if (!known.position) return;
    const ageMs = elapsedMs(known.provenAt);
    this.isLate = false;
    this.toldAgeAt = performance.now();
    this.write(streamEvents.current(ageMs, watch.cursorAt(known.position)));
  }

  tellLate(ageMs: number): void {
    this.isLate = true;
    this.toldAgeAt = performance.now();
    this.write(streamEvents.late(ageMs));
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Id by id, with what changed meanwhile at the end, so that all is of one state. */
  private catchUp(): void {
    const { feed, groups } = this.context;
    const { watch, since } = this.options;
    this.caughtUpFrom ??= feed.position;
    for (const scope of watch.scopes.slice(this.scopesTold)) {
      if (this.isBlocked) return;
      this.writeChanges(groups.groups(watch, since, [scope]));
      this.scopesTold += 1;
    }
    if (this.isBlocked) return;
    this.writeChanges(groups.groups(watch, this.caughtUpFrom));
    this.isCaughtUp = true;
    this.tellCurrent();
  }

  private writeChanges(groups: readonly Buffer[]): void {
    if (groups.length > 0) this.write(...streamEvents.changes(groups));
  }

  private tellChanges({ position, toldAt, changes }: Pending): void {
    const now = performance.now();
    const dueAt = this.lastChangesAt + this.options.conflateMs;
    if (dueAt > now) {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.advance();
      }, dueAt - now).unref();
      return;
    }
    const { groups, observer, unsentEvents } = this.context;
    if (!unsentEvents.hasRoom(this.options, changes * CHANGE_BYTES)) return;
    const event = groups.event(this.options.watch, position);
    // Few changes may still make a large event: a reset, which holds all markets of an id.
    if (event && !unsentEvents.hasRoom(this.options, lengthOf(event))) return;
    this.pending = undefined;
    if (!event) return;
    this.write(...event);
    this.lastChangesAt = now;
    observer?.written(changes, now - Math.max(toldAt, dueAt));
  }
}
