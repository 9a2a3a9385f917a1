import { givenId, ID_NAMES, keyOf, type Group, type Scope, type WatchQuery } from './query.js';
import type { Market } from './types.gen.js';

type Markets = Map<string, Market>;

/** The markets of each watched id. The rule: on reset drop all, put what changed, delete what was removed. */
export class WatchState {
  readonly #scopes = new Map<string, Markets>();

  constructor(query: WatchQuery) {
    for (const name of ID_NAMES)
      for (const id of idsOf(query[name])) this.#scopes.set(keyOf({ [name]: id }), new Map());
  }

  markets(scope: Scope): ReadonlyMap<string, Market> {
    const markets = this.#scopes.get(keyOf(scope));
    if (!markets) throw new RangeError('This id is not watched');
    return markets;
  }

  /**
   * Applies groups, all or none.
   * @throws TypeError when a group is not as the interface promises
   */
  apply(groups: readonly Group[]): void {
    const updates = groups.map((group) => ({ group, markets: this.#checked(group) }));
    for (const { group, markets } of updates) {
      if (group.reset) markets.clear();
      for (const market of group.changed) markets.set(market._id, market);
      for (const id of group.removed) markets.delete(id);
    }
  }

  #checked(group: Group): Markets {
    const markets = this.#scopes.get(keyOf(group));
    const isWhole =
      typeof group.reset === 'boolean' &&
      Array.isArray(group.changed) &&
      Array.isArray(group.removed) &&
      group.changed.every((market: Partial<Market> | null) => typeof market?._id === 'string');
    if (!markets || !isWhole)
      throw new TypeError('The service sent a group that was not asked for');
    return markets;
  }
}

function idsOf(ids: string | readonly string[] = []): string[] {
  return [ids].flat().map(givenId);
}
