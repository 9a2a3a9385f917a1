import type { Timestamp } from 'mongodb';
import { meetsAll, type CachedScope } from '../cache/cached-scope.js';
import { idOfKey } from '../cache/id-order.js';
import type { Condition } from '../market.filters.js';
import type { ChangeHistory } from './change-history.js';
import { textOfKey } from './history-recorder.js';

interface News {
  readonly reset: boolean;
  /** As JSON text. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/**
 * What is new in a scope since a position, as JSON text; all of it without one, or where that is not known.
 * @returns undefined when nothing is new
 */
export function groupSince(
  scope: CachedScope,
  conditions: readonly Condition[],
  history: ChangeHistory,
  position: Timestamp | undefined,
): string | undefined {
  const news = position && newsSince(scope, conditions, history, position);
  if (!news)
    return resetGroup(
      scope.scope,
      scope.matching(conditions).map(({ json }) => json),
    );
  return news.changed.length + news.removed.length > 0 ? groupText(scope.scope, news) : undefined;
}

/** A group with all markets of a scope, each as JSON text. */
export function resetGroup(scope: object, markets: readonly string[]): string {
  return groupText(scope, { reset: true, changed: markets, removed: [] });
}

function newsSince(
  scope: CachedScope,
  conditions: readonly Condition[],
  history: ChangeHistory,
  position: Timestamp,
): News | undefined {
  const idKeys = history.since(scope, position);
  if (!idKeys) return undefined;
  const changed: string[] = [];
  const removed: string[] = [];
  for (const idKey of idKeys) {
    const market = scope.get(idOfKey(idKey));
    if (market && meetsAll(market.filtered, conditions)) changed.push(market.json);
    // What the filters saw no otherwise then, the caller does not have.
    else if (!market || market.filteredSince.greaterThan(position)) removed.push(textOfKey(idKey));
  }
  return { reset: false, changed, removed };
}

function groupText(scope: object, { reset, changed, removed }: News): string {
  const id = JSON.stringify(scope).slice(1, -1);
  return `{${id},"reset":${reset},"changed":[${changed.join(',')}],"removed":${JSON.stringify(removed)}}`;
}
