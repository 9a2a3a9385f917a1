import type { CachedScope } from './cached-scope.js';

/** Which scopes in memory hold a market: one or two as a rule, which take less memory as an array than as a set. */
export class ScopesByMarket {
  private readonly byMarket = new Map<string, readonly CachedScope[]>();

  of(marketKey: string): readonly CachedScope[] {
    return this.byMarket.get(marketKey) ?? [];
  }

  /** Notes whether a scope holds a market now. */
  update(scope: CachedScope, marketKey: string): void {
    const holders = this.of(marketKey);
    if (!scope.get(marketKey)) this.remove(scope, marketKey);
    else if (!holders.includes(scope)) this.byMarket.set(marketKey, [...holders, scope]);
  }

  remove(scope: CachedScope, marketKey: string): void {
    const others = this.of(marketKey).filter((holder) => holder !== scope);
    if (others.length > 0) this.byMarket.set(marketKey, others);
    else this.byMarket.delete(marketKey);
  }
}
