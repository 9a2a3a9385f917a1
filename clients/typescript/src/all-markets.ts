import type { Market, MarketsPage } from './types.gen.js';

const TAKE = 100;

/**
 * Walks all pages. Pages are in the order of `_id`, so that a market added meanwhile comes later; one that was deleted moves
 * others to an earlier page: when there are fewer than before, the walk begins again and gives what it has not given yet.
 */
export async function* allMarkets(
  read: (query: { page: number; take: number }) => Promise<MarketsPage>,
): AsyncGenerator<Market> {
  const given = new Set<string>();
  let before = 0;
  for (let page = 1; ; page += 1) {
    const { data, meta } = await read({ page, take: TAKE });
    if (meta.itemCount < before) page = 0;
    before = meta.itemCount;
    for (const market of page === 0 ? [] : data) {
      if (given.has(market._id ?? '')) continue;
      given.add(market._id ?? '');
      yield market;
    }
    if (page > 0 && !meta.hasNextPage) return;
  }
}
