import type { Document, Timestamp } from 'mongodb';
import type { Commit } from '../../change-feed/change.js';
import type { Scope } from '../scope.js';
import { cachedMarketOf, type CachedMarket } from './cached-market.js';
import { CachedScope } from './cached-scope.js';
import { MarketChange } from './market-change.js';

/** A larger scope costs more to keep than it saves. */
export const MARKETS_MAX = 2_000;

/** A load during which more commits arrive is given up. */
const COMMITS_DURING_LOAD_MAX = 10_000;

/** Why a scope can't be kept in memory. One that is only outdated may be loaded again. */
export type Unfit = 'too large' | 'unordered' | 'outdated';

/** What the feed told while a snapshot was read. */
export interface Meanwhile {
  readonly commits: readonly Commit[];
  /** Whether changes were missed. */
  readonly outdated: boolean;
}

/** Makes a scope from its stored markets, and applies what was told since they were read. */
export function makeScope(
  scope: Scope,
  documents: readonly Document[],
  asOf: Timestamp,
  { commits, outdated }: Meanwhile,
): CachedScope | Unfit {
  if (documents.length > MARKETS_MAX) return 'too large';
  const markets: CachedMarket[] = [];
  for (const document of documents) {
    const market = cachedMarketOf(document, asOf);
    if (!market) return 'unordered';
    markets.push(market);
  }
  if (outdated || commits.length > COMMITS_DURING_LOAD_MAX) return 'outdated';
  const made = new CachedScope(scope, asOf, markets);
  if (!commits.every((commit) => canApply(commit, made))) return 'outdated';
  return made.length > MARKETS_MAX ? 'too large' : made;
}

/** Applies a commit that is newer than the snapshot, if that can be done. */
function canApply({ changes, clusterTime }: Commit, scope: CachedScope): boolean {
  if (!clusterTime.greaterThan(scope.asOf)) return true;
  return changes.every((change) => {
    if (change.kind === 'replaced') return false;
    const own = new MarketChange(change, clusterTime);
    return !own.mayConcern(scope) || own.applyTo(scope);
  });
}
