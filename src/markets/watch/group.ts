import type { Timestamp } from 'mongodb';
import type { CachedScope } from '../cache/cached-scope.js';
import { textOfKey } from '../cache/id-order.js';
import { meets, type Conditions } from '../market.filters.js';
import { ownBuffer } from '../own-buffer.js';
import type { Scope } from '../scope.js';
import type { ChangeHistory } from '../cache/change-history.js';

const COMMA = Buffer.from(',');

/**
 * What is new in a scope since a position, as JSON. Without a position, or where that is not known: all of it.
 * @returns undefined when nothing is new
 */
export function groupSince(
  scope: CachedScope,
  conditions: Conditions,
  history: ChangeHistory,
  position: Timestamp | undefined,
): Buffer | undefined {
  const marketKeys = position && history.since(scope, position);
  if (!position || !marketKeys) {
    return scope.body(JSON.stringify(conditions), () => {
      const markets = scope.matching(conditions).map(({ json }) => json);
      return resetGroup(scope.scope, markets);
    });
  }
  const changed: string[] = [];
  const removed = new Set<string>();
  for (const key of marketKeys) {
    const market = scope.get(key);
    if (market && meets(market.filtered, conditions)) changed.push(market.json);
    // One that did not meet the filters at the position either was never sent to the client.
    else if (!market || market.filteredSince.greaterThan(position)) removed.add(textOfKey(key));
  }
  // Ids of different types may have the same text: a market that is still there is not removed.
  for (const { key, json } of removed.size > 0 ? scope.matching(conditions) : []) {
    if (removed.delete(textOfKey(key)) && !marketKeys.has(key)) changed.push(json);
  }
  if (changed.length + removed.size === 0) return undefined;
  return groupOf(scope.scope, false, changed, [...removed]);
}

/** A group with all markets of a scope, each as JSON text. */
export function resetGroup(scope: Scope, markets: readonly string[]): Buffer {
  return groupOf(scope, true, markets, []);
}

/** `{"data":[…]` of an answer or an event, with what comes before and after, piece by piece. */
export function withGroups(before: string, groups: readonly Buffer[], after: string): Buffer[] {
  const parts = groups.flatMap((group, index) => (index === 0 ? [group] : [COMMA, group]));
  return [Buffer.from(`${before}{"data":[`), ...parts, Buffer.from(`]${after}`)];
}

/** @param changed markets as JSON text */
function groupOf(
  scope: Scope,
  reset: boolean,
  changed: readonly string[],
  removed: readonly string[],
): Buffer {
  const id = JSON.stringify(scope).slice(1, -1);
  return ownBuffer(
    `{${id},"reset":${reset},"changed":[${changed.join(',')}],"removed":${JSON.stringify(removed)}}`,
  );
}
