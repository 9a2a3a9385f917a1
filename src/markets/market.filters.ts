import type { PageQuery } from '../http/input/page.js';
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

/** Whether a stored market meets a condition as MongoDB judges it: an array by any of its elements. */
export function meets(stored: Readonly<Record<string, unknown>>, condition: Condition): boolean {
  return Object.entries(condition).every(([field, value]) => {
    const found = stored[field];
    return found === value || (Array.isArray(found) && found.includes(value));
  });
}

/** The stored fields that conditions look at. */
export const FILTERED_FIELDS = Object.values(marketFilters).flatMap((condition) =>
  Object.keys(condition('live' as never)),
);

/** The conditions that a query sets, in the order of the table. */
export function conditionsOf(query: MarketsQuery): Condition[] {
  const table = marketFilters as Record<string, (value: string) => Condition>;
  return Object.entries(table).flatMap(([name, condition]) => {
    const value = query[name as keyof typeof marketFilters];
    return value === undefined ? [] : [condition(value)];
  });
}
