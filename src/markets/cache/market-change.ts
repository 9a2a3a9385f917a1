import type { Timestamp } from 'mongodb';
import type { DocumentChange } from '../../change-feed/change.js';
import { isBelowScopeField, scopeKeysOf } from '../scope.js';
import { cachedMarketOf, type CachedMarket } from './cached-market.js';
import type { CachedScope } from './cached-scope.js';
import { orderedIdOf, unorderedKey, type OrderedId } from './id-order.js';

/** A change of one document in terms of markets and scopes. The market is made once for all scopes that need it. */
export class MarketChange {
  readonly id: OrderedId | undefined;
  /** The scopes that the market is in now, as far as the change tells. */
  readonly scopeKeys: readonly string[];
  /** The scopes that the market was in before; undefined where nobody knows. */
  readonly scopeKeysBefore: readonly string[] | undefined;
  /** Whether it may concern any scope, since it does not tell which. */
  readonly concernsAll: boolean;
  private made: CachedMarket | undefined;

  constructor(
    private readonly change: DocumentChange,
    readonly clusterTime: Timestamp,
  ) {
    this.id = orderedIdOf(change.id);
    this.scopeKeys = keysAfter(change);
    this.scopeKeysBefore = change.before && scopeKeysOf(change.before);
    this.concernsAll =
      change.kind === 'altered' && Object.keys(change.fields).some(isBelowScopeField);
  }

  /** The market's id as a key, from which `textOfKey` makes what callers see. */
  get idKey(): string {
    return this.id?.key ?? unorderedKey(this.change.id);
  }

  /** Whether a scope may have to change. */
  mayConcern(scope: CachedScope): boolean {
    return (
      this.concernsAll ||
      this.scopeKeys.includes(scope.key) ||
      (this.id !== undefined && scope.has(this.id))
    );
  }

  /**
   * Brings a scope up to this change.
   * @returns false when the scope can't be kept
   */
  applyTo(scope: CachedScope): boolean {
    const { change, id } = this;
    if (change.kind === 'stored' && this.scopeKeys.includes(scope.key)) {
      if (!id) return false;
      this.made ??= cachedMarketOf(id, change.document, this.clusterTime);
      scope.put(this.made);
      return true;
    }
    if (change.kind === 'altered') return false;
    if (id) scope.remove(id);
    return true;
  }
}

function keysAfter(change: DocumentChange): readonly string[] {
  if (change.kind === 'stored') return scopeKeysOf(change.document);
  return change.kind === 'altered' ? scopeKeysOf(change.fields) : [];
}
