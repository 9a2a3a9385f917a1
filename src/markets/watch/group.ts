import type { Timestamp } from 'mongodb';
import type { CachedScope } from '../cache/cached-scope.js';
import { idOfKey, textOfKey } from '../cache/id-order.js';
import { meetsAll, type Condition } from '../market.filters.js';
import type { ChangeHistory } from '../cache/change-history.js';

interface News {
  /** As JSON text. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

const COMMA = Buffer.from(',');

/**
 * What is new in a scope since a position, as JSON; all of it without one, or where that is not known.
 * @returns undefined when nothing is new
 */
export function groupSince(
  scope: CachedScope,
  conditions: readonly Condition[],
  history: ChangeHistory,
  position: Timestamp | undefined,
): Buffer | undefined {
  const news = position && newsSince(scope, conditions, history, position);
  if (news) return isEmpty(news) ? undefined : groupOf(scope.scope, false, news);
  return scope.body(JSON.stringify(conditions), () => {
    const markets = scope.matching(conditions).map(({ json }) => json);
    return resetGroup(scope.scope, markets);
  });
}

/** A group with all markets of a scope, each as JSON text. */
export function resetGroup(scope: object, markets: readonly string[]): Buffer {
  return groupOf(scope, true, { changed: markets, removed: [] });
}

/** `{"data":[…]` of an answer or an event, with what comes before and after. */
export function withGroups(before: string, groups: readonly Buffer[], after: string): Buffer {
  const parts = groups.flatMap((group, index) => (index === 0 ? [group] : [COMMA, group]));
  return Buffer.concat([Buffer.from(`${before}{"data":[`), ...parts, Buffer.from(`]${after}`)]);
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
  return { changed, removed };
}

function isEmpty({ changed, removed }: News): boolean {
  return changed.length + removed.length === 0;
}

function groupOf(scope: object, reset: boolean, { changed, removed }: News): Buffer {
  const id = JSON.stringify(scope).slice(1, -1);
  return Buffer.from(
    `{${id},"reset":${reset},"changed":[${changed.join(',')}],"removed":${JSON.stringify(removed)}}`,
  );
}
