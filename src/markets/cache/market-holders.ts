import type { CachedScope } from './cached-scope.js';
import type { OrderedId } from './id-order.js';

/** Which scopes in memory hold a market: one or two as a rule, which take less memory as an array than as a set. */
export class MarketHolders {
  private readonly byId = new Map<string, readonly CachedScope[]>();

  /** How many are noted: each market once for each scope that holds it. */
  get count(): number {
    return [...this.byId.values()].reduce((sum, { length }) => sum + length, 0);
  }

  of({ key }: OrderedId): readonly CachedScope[] {
    return this.byId.get(key) ?? [];
  }

  /** Notes whether a scope holds a market now. */
  update(scope: CachedScope, id: OrderedId): void {
    const holders = this.of(id);
    if (scope.has(id) === holders.includes(scope)) return;
    if (scope.has(id)) this.byId.set(id.key, [...holders, scope]);
    else this.remove(scope, id);
  }

  remove(scope: CachedScope, id: OrderedId): void {
    const others = this.of(id).filter((holder) => holder !== scope);
    if (others.length > 0) this.byId.set(id.key, others);
    else this.byId.delete(id.key);
  }
}
