import { Injectable } from '@nestjs/common';
import type { Timestamp } from 'mongodb';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { CachedScope } from '../cache/cached-scope.js';
import { ChangeHistory } from '../cache/change-history.js';
import { textOfKey } from '../cache/id-order.js';
import { meets, type Conditions } from '../conditions.js';
import { lengthOf } from '../compression.js';
import { groupOf } from './group.js';
import { streamEvents } from './stream-events.js';
import { tooMuchData } from './watch-problems.js';
import type { Watch } from './watch.js';
import { WatchedScopes } from './watched-scopes.js';

/** Longer events are left in pieces, which streams share: when all are reset, a copy for each would fill memory. */
const COPY_BYTES_MAX = 16 * 1024;

/** Makes groups of what is new in the watched scopes. Streams that watch the same share their events. */
@Injectable()
export class WatchGroups {
  /** The events made at `eventsAt`, by what is watched and since which position. */
  private readonly events = new Map<string, readonly Buffer[] | undefined>();
  /** They tell all changes up to this position of the feed. */
  private eventsAt: Timestamp | undefined;

  constructor(
    private readonly watched: WatchedScopes,
    private readonly feed: ChangeFeed,
    private readonly history: ChangeHistory,
  ) {}

  /**
   * Whether all of a watch is in memory, and no part of it newer than what the feed has told. It is not while a scope
   * is loaded again, nor just after one was read from MongoDB with changes that the feed has yet to tell.
   */
  hasAll({ scopes }: Watch): boolean {
    const { position } = this.feed;
    if (!position) return false;
    return scopes.every((scope) => this.watched.get(scope)?.asOf.lessThanOrEqual(position));
  }

  /** Whether a watch has grown to more markets than may be watched. */
  isTooLarge({ scopes }: Watch): boolean {
    return tooMuchData(scopes, (scope) => this.watched.get(scope)?.length) !== undefined;
  }

  /** One group for each scope with something new: of all scopes of a watch, or of some. */
  groups(watch: Watch, since: Timestamp | undefined, scopes = watch.scopes): Buffer[] {
    return scopes
      .map((scope) => this.watched.get(scope))
      .map((scope) => scope && this.group(scope, watch.conditions, since))
      .filter((group) => group !== undefined);
  }

  /**
   * The event with what is new since a position, or with all where there is none, piece by piece; undefined when nothing
   * is new.
   */
  event(watch: Watch, since: Timestamp | undefined): readonly Buffer[] | undefined {
    const { position } = this.feed;
    if (!position) return undefined;
    if (!this.eventsAt?.equals(position)) this.events.clear();
    this.eventsAt = position;
    const key = `${watch.orderedHash} ${since?.toBigInt()}`;
    if (this.events.has(key)) return this.events.get(key);
    const groups = this.groups(watch, since);
    const event =
      groups.length > 0
        ? joinedIfShort(streamEvents.changes(groups, watch.cursorAt(position)))
        : undefined;
    this.events.set(key, event);
    return event;
  }

  /** What is new since a position; all where there is none, or where that is not known. Undefined if nothing is new. */
  private group(scope: CachedScope, conditions: Conditions, since: Timestamp | undefined) {
    const marketKeys = since && this.history.since(scope, since);
    if (!since || !marketKeys) {
      return scope.group(JSON.stringify(conditions), () => {
        const markets = scope.matching(conditions).map(({ json }) => json);
        return groupOf(scope.key, markets);
      });
    }
    const changed: string[] = [];
    const removed = new Set<string>();
    for (const key of marketKeys) {
      const market = scope.get(key);
      if (market && meets(market.filtered, conditions)) changed.push(market.json);
      // If it did not meet the filters at the position either, the client does not have it.
      else if (!market || market.filteredSince.greaterThan(since)) removed.add(textOfKey(key));
    }
    // Ids of different types may have the same text: a market that is still there is not removed.
    for (const { key, json } of removed.size > 0 ? scope.matching(conditions) : []) {
      if (removed.delete(textOfKey(key)) && !marketKeys.has(key)) changed.push(json);
    }
    return changed.length + removed.size > 0
      ? groupOf(scope.key, changed, [...removed])
      : undefined;
  }
}

function joinedIfShort(pieces: readonly Buffer[]): readonly Buffer[] {
  return lengthOf(pieces) <= COPY_BYTES_MAX ? [Buffer.concat(pieces)] : pieces;
}
