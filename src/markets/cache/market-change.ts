import type { Timestamp } from 'mongodb';
import type { DocumentChange } from '../../change-feed/change.js';
import { scopesOf, type Scope } from '../scope.js';
import { cachedMarketOf, type CachedMarket } from './cached-market.js';
import type { CachedScope } from './cached-scope.js';
import { keyOfId } from './id-order.js';

/** A change of one document in terms of markets and scopes. The market is made once for all scopes that need it. */
export class MarketChange {
  readonly marketKey = keyOfId(this.change.id);
  /** The scopes that the market is in now, as far as the change tells. */
  readonly scopes = scopesAfter(this.change);
  /** The scopes that the market was in before; undefined where nobody knows. */
  readonly scopesBefore = this.change.before && scopesOf(this.change.before);
  private made: CachedMarket | undefined;

  constructor(
    private readonly change: DocumentChange,
    readonly clusterTime: Timestamp,
  ) {}

  /**
   * Brings a scope up to this change, if it concerns it.
   * @returns false when the scope can't be kept
   */
  applyTo(scope: CachedScope): boolean {
    const { change } = this;
    const isIn = this.scopes.includes(scope.key);
    if (change.kind === 'altered') return !isIn && !scope.get(this.marketKey);
    if (change.kind === 'stored' && isIn) {
      this.made ??= cachedMarketOf(change.document, this.clusterTime);
      if (this.made) scope.put(this.made);
      return this.made !== undefined;
    }
    scope.remove(this.marketKey);
    return true;
  }
}

function scopesAfter(change: DocumentChange): readonly Scope[] {
  if (change.kind === 'stored') return scopesOf(change.document);
  if (change.kind === 'deleted') return [];
  // A new value may stand within an id that is a list, as in `eventId.0`.
  return Object.entries(change.fields).flatMap(([path, value]) =>
    scopesOf({ [path.replace(/\..*/, '')]: value }),
  );
}
