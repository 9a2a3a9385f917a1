import type { Timestamp } from 'mongodb';
import type { Commit } from '../../change-feed/change.js';
import type { Scope } from '../scope.js';
import type { CachedMarket } from './cached-market.js';
import { CachedScope } from './cached-scope.js';
import { MarketChange } from './market-change.js';

/** A larger scope costs more to keep than it saves. */
export const SCOPE_MARKETS_MAX = 2_000;

/** A load during which more commits arrive is given up. */
const COMMITS_DURING_LOAD_MAX = 10_000;

/** Why a scope can't be kept: `unordered` has an `_id` that memory can't order; `outdated` may be loaded again. */
export type Unfit = 'too large' | 'unordered' | 'outdated';

/**
 * Makes a scope from its markets, and applies what was told since they were read.
 * @param read undefined for a market that memory can't order
 * @param meanwhile undefined when changes were missed
 */
export function makeScope(
  scope: Scope,
  read: readonly (CachedMarket | undefined)[],
  asOf: Timestamp,
  meanwhile: readonly Commit[] | undefined,
): CachedScope | Unfit {
  if (read.length > SCOPE_MARKETS_MAX) return 'too large';
  const markets = read.filter((market) => market !== undefined);
  if (markets.length < read.length) return 'unordered';
  if (!meanwhile || meanwhile.length > COMMITS_DURING_LOAD_MAX) return 'outdated';
  const made = new CachedScope(scope, asOf, markets);
  if (!meanwhile.every((commit) => applyCommit(commit, made))) return 'outdated';
  return made.length > SCOPE_MARKETS_MAX ? 'too large' : made;
}

/** Applies a commit if it is newer than the snapshot. @returns false when it can't be applied */
function applyCommit({ changes, clusterTime }: Commit, scope: CachedScope): boolean {
  if (!clusterTime.greaterThan(scope.asOf)) return true;
  return changes.every(
    (change) =>
      change.kind !== 'collectionReplaced' && new MarketChange(change, clusterTime).applyTo(scope),
  );
}
