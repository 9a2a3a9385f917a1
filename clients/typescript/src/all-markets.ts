import type { Market, MarketsPage } from './types.gen.js';

const TAKE = 100;

/**
 * Walks all pages. Pages are in the order of `_id`, so that a market added meanwhile comes later; one that was deleted
 * moves others to an earlier page. So each page is followed by another look at the one before it, mostly a 304: where
 * that ends with another market now, the walk begins again and gives what it has not given yet.
 */
export async function* allMarkets(
  read: (query: { page: number; take: number }) => Promise<MarketsPage>,
): AsyncGenerator<Market> {
  const given = new Set<string>();
  let lastBefore: string | undefined;
  for (let page = 1; ; page += 1) {
    const { data, meta } = await read({ page, take: TAKE });
    if (page > 1 && lastOf(await read({ page: page - 1, take: TAKE })) !== lastBefore) {
      page = 0;
      continue;
    }
    for (const market of data) {
      if (given.has(market._id ?? '')) continue;
      given.add(market._id ?? '');
      yield market;
    }
    if (!meta.hasNextPage) return;
    lastBefore = lastOf({ data, meta });
  }
}

function lastOf({ data }: MarketsPage): string | undefined {
  return data.at(-1)?._id;
}
