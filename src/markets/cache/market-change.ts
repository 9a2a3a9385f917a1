import type { Timestamp } from 'mongodb';
import type { Change } from '../../change-feed/change.js';
import { isBelowScopeField, scopeKeysOf } from '../scope.js';
import { cachedMarketOf, type CachedMarket } from './cached-market.js';
import type { CachedScope } from './cached-scope.js';
import { orderedIdOf, unorderedKey, type OrderedId } from './id-order.js';

/** A change in terms of markets and scopes. The market is made once for all scopes that need it. */
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
    private readonly change: Change,
    readonly clusterTime: Timestamp,
  ) {
    this.id = change.kind === 'replaced' ? undefined : orderedIdOf(change.id);
    this.scopeKeys = keysAfter(change);
    this.scopeKeysBefore =
      change.kind !== 'replaced' && change.before ? scopeKeysOf(change.before) : undefined;
    this.concernsAll =
      change.kind === 'replaced' ||
      (change.kind === 'altered' && Object.keys(change.fields).some(isBelowScopeField));
  }

  /** Whether the collection is another one now. */
  get isOfAll(): boolean {
    return this.change.kind === 'replaced';
  }

  /** The market's id as a key, from which `textOfKey` makes what callers see. */
  get idKey(): string {
    if (this.change.kind === 'replaced') return '';
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
    if (change.kind === 'stored' || change.kind === 'deleted') {
      if (id) scope.remove(id);
      return true;
    }
    return false;
  }
}

function keysAfter(change: Change): readonly string[] {
  if (change.kind === 'stored') return scopeKeysOf(change.document);
  return change.kind === 'altered' ? scopeKeysOf(change.fields) : [];
}
