import type { PageQuery } from '../common/page.js';
import type { MarketsQuery } from './markets-query.dto.js';
import type { Market } from './market.schema.js';

/** What every market of an answer has: field by field, the exact value. */
export type Condition = Readonly<Partial<Record<keyof Market, string>>>;

/** One entry for each filter of a query: a forgotten one does not compile. */
type FilterTable<Query> = {
  readonly [Name in Exclude<keyof Query, keyof PageQuery>]-?: (
    value: NonNullable<Query[Name]>,
  ) => Condition;
};

const marketFilters = {
  marketMoment: (value) => ({ marketMoment: value }),
  marketType: (value) => ({ marketType: value }),
} satisfies FilterTable<MarketsQuery>;

/** The conditions that a query sets, in the order of the table. */
export function conditionsOf(query: MarketsQuery): Condition[] {
  const table = marketFilters as Record<string, (value: string) => Condition>;
  return Object.entries(table).flatMap(([name, condition]) => {
    const value = query[name as keyof typeof marketFilters];
    return value === undefined ? [] : [condition(value)];
  });
}
