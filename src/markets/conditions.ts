import type { MarketFilters } from './markets-query.dto.js';
import { FILTERED_FIELDS, type FilteredField } from './market.schema.js';
import type { Fields } from './stored-field.decorator.js';

/** What every market of an answer must meet: each of these fields has one of the values. */
export type Conditions = {
  readonly [Field in FilteredField]?: { readonly $in: readonly string[] };
};

/** The conditions that a query sets. */
export function conditionsOf(query: MarketFilters): Conditions {
  const given = FILTERED_FIELDS.filter((field) => query[field]);
  // Sorted, so that the same question is the same condition however it was asked.
  return Object.fromEntries(given.map((field) => [field, { $in: query[field]?.toSorted() }]));
}

/** Whether a stored market meets all conditions, as MongoDB judges it: an array does if any of its elements does. */
export function meets(stored: Fields, conditions: Conditions): boolean {
  return FILTERED_FIELDS.every((field) => {
    const wanted: readonly unknown[] | undefined = conditions[field]?.$in;
    const found = stored[field];
    if (!wanted || wanted.includes(found)) return true;
    return Array.isArray(found) && found.some((element) => wanted.includes(element));
  });
}

/** A filter has at most 256 characters of one or two UTF-16 units, so that it can't match a longer text. */
const LENGTH_MAX = 512;

/** The fields of a stored market that filters judge. */
export function filteredOf(stored: Fields): Fields {
  return Object.fromEntries(
    FILTERED_FIELDS.map((field) => {
      const value = stored[field];
      return [field, Array.isArray(value) ? value.map(filterable) : filterable(value)];
    }),
  );
}

function filterable(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= LENGTH_MAX ? value : undefined;
}
