import type { MarketFilters } from './markets-query.dto.js';
import { FILTERED_FIELDS, type Market } from './market.schema.js';

/** What every market of an answer must meet: a field has one of these values. */
export type Condition = Readonly<
  Partial<Record<keyof Market, { readonly $in: readonly string[] }>>
>;

/** One entry for each filter of a query. It does not compile while one is missing. */
type FilterTable = {
  readonly [Name in keyof MarketFilters]-?: (values: NonNullable<MarketFilters[Name]>) => Condition;
};

const marketFilters: FilterTable = {
  marketMoment: (values) => ({ marketMoment: oneOf(values) }),
  marketType: (values) => ({ marketType: oneOf(values) }),
  marketStatus: (values) => ({ marketStatus: oneOf(values) }),
  provider: (values) => ({ provider: oneOf(values) }),
};

/** Sorted, so that the same question is the same condition however it was asked. */
function oneOf(values: readonly string[]) {
  return { $in: values.toSorted() };
}

/** The conditions that a query sets, in the order of the table. */
export function conditionsOf(query: MarketFilters): Condition[] {
  const table = marketFilters as Record<string, (values: readonly string[]) => Condition>;
  return Object.entries(table).flatMap(([name, condition]) => {
    const values = query[name as keyof MarketFilters];
    return values === undefined ? [] : [condition(values)];
  });
}

const keys = new WeakMap<MarketFilters, string>();

/** Equal for queries that set the same conditions. Remembered, since popular queries are kept and never change. */
export function conditionsKey(query: MarketFilters): string {
  let key = keys.get(query);
  if (key === undefined) {
    key = JSON.stringify(conditionsOf(query));
    keys.set(query, key);
  }
  return key;
}

/** Broken UTF-8 is read as U+FFFD: only MongoDB can tell which markets match a filter with that character. */
export function canBeJudgedInMemory(query: MarketFilters): boolean {
  return !conditionsKey(query).includes('\ufffd');
}

/** Whether a stored market meets all conditions. */
export function meetsAll(
  stored: Readonly<Record<string, unknown>>,
  conditions: readonly Condition[],
): boolean {
  return conditions.every((condition) => meets(stored, condition));
}

/** As MongoDB judges it: an array meets a condition if any of its elements does. */
function meets(stored: Readonly<Record<string, unknown>>, condition: Condition): boolean {
  for (const field in condition) {
    const wanted: readonly unknown[] = condition[field as keyof Market]?.$in ?? [];
    const found = stored[field];
    const isMet = Array.isArray(found)
      ? found.some((element) => wanted.includes(element))
      : wanted.includes(found);
    if (!isMet) return false;
  }
  return true;
}

/** A filter has at most 256 characters of one or two UTF-16 units, so that it can't match a longer text. */
const LENGTH_MAX = 512;

/** Texts that many markets share are kept once in memory. Each market that is read brings a copy of its own. */
const shared = new Map<string, string>();
const SHARED_MAX = 1_000;

/** The fields of a stored market that filters judge. */
export function filteredOf(
  stored: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    FILTERED_FIELDS.map((field) => {
      const value = stored[field];
      return [field, Array.isArray(value) ? value.map(filterable) : filterable(value)];
    }),
  );
}

function filterable(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LENGTH_MAX) return undefined;
  const known = shared.get(value);
  if (known !== undefined) return known;
  if (shared.size < SHARED_MAX) shared.set(value, value);
  return value;
}
