import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { MARKETS_MAX, MARKETS_TOGETHER_MAX } from '../cache/scope-loader.js';
import { ChangeHistory } from './change-history.js';
import { writeCursor } from './cursor.js';
import { FeedCurrency } from './feed-currency.js';
import { groupSince } from './group.js';
import { streamEvents } from './stream-events.js';
import { WatchedScopes } from './watched-scopes.js';
import type { Watch } from './watch.js';

/** Cuts what is new out of the watched scopes: once for all streams that ask for the same. */
@Injectable()
export class WatchCuts {
  private readonly events = new Map<string, Buffer | undefined>();
  private madeAt: Timestamp | undefined;

  constructor(
    private readonly watched: WatchedScopes,
    private readonly currency: FeedCurrency,
    private readonly history: ChangeHistory,
  ) {}

  get position(): Timestamp | undefined {
    return this.currency.position;
  }

  /** Whether all of a watch is in memory: for a moment after an upheaval it may not be. */
  canCut({ keys }: Watch): boolean {
    return this.position !== undefined && keys.every((key) => this.watched.get(key) !== undefined);
  }

  /** Whether a watch has grown above what may be watched. */
  isOver({ keys }: Watch): boolean {
    const lengths = keys.map((key) => this.watched.get(key)?.length ?? 0);
    const all = lengths.reduce((sum, length) => sum + length, 0);
    return all > MARKETS_TOGETHER_MAX || lengths.some((length) => length > MARKETS_MAX);
  }

  cursor({ hash }: Watch, position: Timestamp): string {
    return writeCursor({ position, watchHash: hash });
  }

  /** What is new under the ids of a watch that have news, or under some of them. */
  groups(watch: Watch, since: Timestamp | undefined, keys = watch.keys): Buffer[] {
    return keys
      .map((key) => this.watched.get(key))
      .map((scope) => scope && groupSince(scope, watch.conditions, this.history, since))
      .filter((group) => group !== undefined);
  }

  /** The event with what is new since a position; undefined when nothing is. */
  event(watch: Watch, since: Timestamp): Buffer | undefined {
    const { position } = this;
    if (!position) return undefined;
    this.forgetOld(position);
    const wanted = `${watch.signature} ${since.toBigInt()}`;
    if (this.events.has(wanted)) return this.events.get(wanted);
    const groups = this.groups(watch, since);
    const event =
      groups.length > 0 ? streamEvents.changes(groups, this.cursor(watch, position)) : undefined;
    this.events.set(wanted, event);
    return event;
  }

  /** What was made holds for one position of the feed. */
  private forgetOld(position: Timestamp): void {
    if (this.madeAt?.equals(position)) return;
    this.events.clear();
    this.madeAt = position;
  }
}
