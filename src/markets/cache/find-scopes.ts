import { MARKETS } from '../../common/collections.js';
import { MARKET_PROJECTION } from '../market-view.js';
import type { Conditions } from '../conditions.js';
import { filterOf, type Scope } from '../scope.js';
import { SCOPE_MARKETS_MAX } from './make-scope.js';

/** How many markets a watch may have in all. */
export const WATCH_MARKETS_MAX = 10_000;

/** The most markets in the first reply, such as ten events of fifty: a larger watch takes further replies. */
const FIRST_REPLY = 500;

/** The command that finds all markets of some scopes. Its limit is above what they may have together. */
export function findScopes(scopes: readonly Scope[], conditions: Conditions = {}) {
  const most = Math.min(scopes.length * SCOPE_MARKETS_MAX, WATCH_MARKETS_MAX + SCOPE_MARKETS_MAX);
  return {
    find: MARKETS,
    filter: { $or: scopes.map(filterOf), ...conditions },
    sort: { _id: 1 },
    projection: MARKET_PROJECTION,
    limit: most + 1,
    // With one more, MongoDB sees that there is no more, and closes its cursor.
    batchSize: FIRST_REPLY + 1,
  };
}
