import type { Change } from '../../change-feed/change.js';
import { cachedMarketOf, type CachedScope, type CachedMarket } from './cached-scope.js';
import { orderedIdOf, type OrderedId } from './id-order.js';
import { scopeKeysOf } from '../scope.js';

/** An update below one of the ids, as in `eventId.0`: whom it concerns can't be told. */
const BELOW_AN_ID = /^(eventId|fixtureId)\./;

/** A change as books see it. What several books need of it is made once. */
export class MarketChange {
  readonly id: OrderedId | undefined;
  /** The scopes that the market is in now, as far as the change tells. */
  readonly scopeKeys: readonly string[];
  private made: CachedMarket | undefined;

  constructor(private readonly change: Change) {
    this.id = change.kind === 'replaced' ? undefined : orderedIdOf(change.id);
    this.scopeKeys =
      change.kind === 'stored'
        ? scopeKeysOf(change.document)
        : change.kind === 'altered'
          ? scopeKeysOf(change.fields)
          : [];
  }

  /** Whether every book may be wrong after it. */
  get concernsAll(): boolean {
    const { change } = this;
    if (change.kind === 'replaced') return true;
    return (
      change.kind === 'altered' && Object.keys(change.fields).some((name) => BELOW_AN_ID.test(name))
    );
  }

  /** Whether a book that is not known to hold the market might have to change. */
  mayConcern(book: CachedScope): boolean {
    const { change, id } = this;
    return (
      change.kind === 'replaced' ||
      this.concernsAll ||
      this.scopeKeys.includes(book.key) ||
      (id !== undefined && book.has(id))
    );
  }

  /**
   * Brings a book up to this change.
   * @returns false when the book can't be kept
   */
  applyTo(book: CachedScope): boolean {
    const { change, id } = this;
    if (change.kind === 'stored' && this.scopeKeys.includes(book.key)) {
      if (!id) return false;
      this.made ??= cachedMarketOf(id, change.document);
      book.put(this.made);
      return true;
    }
    if (change.kind === 'stored' || change.kind === 'deleted') {
      if (id) book.remove(id);
      return true;
    }
    return false;
  }
}
