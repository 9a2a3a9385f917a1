import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { writeCursor } from './cursor.js';
import { FeedCurrency } from './feed-currency.js';
import { groupSince } from './group.js';
import { HistoryRecorder } from './history-recorder.js';
import { streamEvents } from './stream-events.js';
import { WatchedScopes } from './watched-scopes.js';
import type { Watch } from './watch.js';

/** Cuts what is new out of the watched scopes: once for all streams that ask for the same. */
@Injectable()
export class WatchCuts {
  private readonly made = new Map<string, string | undefined>();
  private madeAt: Timestamp | undefined;

  constructor(
    private readonly watched: WatchedScopes,
    private readonly currency: FeedCurrency,
    private readonly recorder: HistoryRecorder,
  ) {}

  get position(): Timestamp | undefined {
    return this.currency.position;
  }

  /** Whether all of a watch is in memory: for a moment after an upheaval it may not be. */
  canCut({ keys }: Watch): boolean {
    return this.position !== undefined && keys.every((key) => this.watched.get(key) !== undefined);
  }

  cursor(watch: Watch, position: Timestamp): string {
    return writeCursor({ position, watchHash: watch.hash });
  }

  group(watch: Watch, key: string, since: Timestamp | undefined): string | undefined {
    const scope = this.watched.get(key);
    return scope && groupSince(scope, watch.conditions, this.recorder.history, since);
  }

  /** The event with what is new since a position; undefined when nothing is. */
  event(watch: Watch, since: Timestamp): string | undefined {
    const { position } = this;
    if (!position) return undefined;
    this.forgetOld(position);
    const wanted = `${watch.signature} ${since.toBigInt()}`;
    if (this.made.has(wanted)) return this.made.get(wanted);
    const groups = watch.keys
      .map((key) => this.group(watch, key, since))
      .filter((group) => group !== undefined);
    const event =
      groups.length > 0 ? streamEvents.changes(groups, this.cursor(watch, position)) : undefined;
    this.made.set(wanted, event);
    return event;
  }

  /** What was made holds for one position of the feed. */
  private forgetOld(position: Timestamp): void {
    if (this.madeAt?.equals(position)) return;
    this.made.clear();
    this.madeAt = position;
  }
}
