import type { Market, MarketsPage } from './types.gen.js';

const MOST = 100;

/** Sizes of a page, largest first. */
const TAKES = Array.from({ length: MOST / 2 }, (_, index) => MOST - index);

/** So many markets of a page were given already, so that it still shows one when some have gone meanwhile. */
const OVERLAP = 10;

/**
 * Walks all pages. Each but the first has to show a market that was given already: of one answer, all that follows it
 * is there, however the markets before it came and went. A page that shows none is too far on, and the walk steps back.
 */
export async function* allMarkets(
  read: (query: { page: number; take: number }) => Promise<MarketsPage>,
): AsyncGenerator<Market> {
  const given = new Set<string>();
  let position = 0;
  for (;;) {
    const take = takeAt(position);
    const page = Math.floor(position / take) + 1;
    const { data, meta } = await read({ page, take });
    if (page > 1 && !data.some(({ _id }) => given.has(_id))) {
      position -= take;
      continue;
    }
    for (const market of data) {
      if (given.has(market._id)) continue;
      given.add(market._id);
      yield market;
    }
    if (!meta.hasNextPage) return;
    position = (page - 1) * take + data.length;
  }
}

/** The size of the page that shows most from a position on, and enough of what is before it. */
function takeAt(position: number): number {
  const from = (take: number) => take - (position % take);
  const [first = MOST, ...others] = TAKES.filter((take) => position % take >= OVERLAP);
  return others.reduce((best, take) => (from(take) > from(best) ? take : best), first);
}
