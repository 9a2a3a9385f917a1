import type { Timestamp } from 'mongodb';
import { hash } from 'node:crypto';
import { isComparable } from '../cache/id-order.js';
import { conditionsOf, type Conditions } from '../conditions.js';
import type { MarketFilters } from '../markets-query.dto.js';
import type { Scope } from '../scope.js';
import { WATCH_HASH_BYTES, writeCursor } from './cursor.js';

/** What a caller watches: events and fixtures, and which of their markets. */
export class Watch {
  readonly conditions: Conditions;
  /** Equal for the same ids, in any order, and the same filters, of the same collection. */
  readonly hash: string;
  /** Equal where the answers are: the order of the ids counts, too. */
  readonly orderedHash: string;
  /** Whether memory can tell what its ids and filters match. */
  readonly isComparableInMemory: boolean;

  /**
   * @param scopes in the caller's order
   * @param collection its name, with that of its database: a cursor of another collection has another hash
   */
  constructor(
    readonly scopes: readonly Scope[],
    filters: MarketFilters,
    collection = '',
  ) {
    this.conditions = conditionsOf(filters);
    const text = JSON.stringify([scopes, this.conditions]);
    this.hash = digest(JSON.stringify([scopes.toSorted(), this.conditions, collection]));
    this.orderedHash = digest(text);
    this.isComparableInMemory = isComparable(text);
  }

  /** The cursor of a caller who has been told everything up to a position. */
  cursorAt(position: Timestamp): string {
    return writeCursor({ position, watchHash: this.hash });
  }
}

function digest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 2 * WATCH_HASH_BYTES);
}
