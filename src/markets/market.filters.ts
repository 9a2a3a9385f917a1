import { REPLACEMENT_CHARACTER } from './cache/id-order.js';
import type { MarketFilters } from './markets-query.dto.js';
import { FILTERED_FIELDS, type FilteredField } from './market.schema.js';

/** What every market of an answer must meet: a field has one of these values. */
export type Condition = {
  readonly [Field in FilteredField]?: { readonly $in: readonly string[] };
};

/** The conditions that a query sets. */
export function conditionsOf(query: MarketFilters): Condition[] {
  return FILTERED_FIELDS.flatMap((field) => {
    const values: readonly string[] | undefined = query[field];
    // Sorted, so that the same question is the same condition however it was asked.
    return values ? [{ [field]: { $in: values.toSorted() } }] : [];
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
  return !FILTERED_FIELDS.some((field) =>
    query[field]?.some((value) => value.includes(REPLACEMENT_CHARACTER)),
  );
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
    const wanted: readonly unknown[] = condition[field as FilteredField]?.$in ?? [];
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
