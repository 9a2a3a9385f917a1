import { Double } from 'mongodb';
import { isDocument, numberOf } from '../market-view.js';
import { Market } from '../market.schema.js';
import { listFields, type StoredFieldRule } from '../stored-field.decorator.js';
import type { Fields } from './market-record.js';

/** The fields that make a difference between two states of a market. */
export const contentFields = listFields(Market).filter(
  ({ kind }) => kind !== 'objectId' && kind !== 'date',
);

/** These fields of a record or of a stored market, as an import stores them: prices are doubles, nulls are left out. */
export function contentOf(market: Fields): Fields {
  return stored(contentFields, market);
}

function stored(rules: readonly StoredFieldRule[], document: Fields): Fields {
  const fields = rules.map((rule) => [rule.name, storedValue(rule, document[rule.name])] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function storedValue({ kind, of }: StoredFieldRule, value: unknown): unknown {
  const price = kind === 'price' ? numberOf(value) : undefined;
  if (price !== undefined) return new Double(price);
  if (!of || !Array.isArray(value)) return value ?? undefined;
  return value.map((item: unknown) => (isDocument(item) ? stored(listFields(of), item) : item));
}
