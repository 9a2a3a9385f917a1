import { Double } from 'mongodb';
import { Market } from '../market.schema.js';
import { listFields, type StoredFieldRule } from '../stored-field.decorator.js';
import type { Fields } from './market-record.js';

const DATES = ['createdAt', 'updatedAt'];

/** The fields that make a difference between two states of a market. */
export const contentFields = listFields(Market).filter(
  ({ name, generated }) => !generated && !DATES.includes(name),
);

/** The content of a record as BSON: prices are doubles, whole ones too. */
export function storedContent(record: Fields): Fields {
  return storedForm(contentFields, record);
}

/** Whether a record has the content of another one, or of a stored market. */
export function isSameContent(record: unknown, other: unknown): boolean {
  return isSame(contentFields, record, other);
}

function storedForm(fields: readonly StoredFieldRule[], record: Fields): Fields {
  const present = fields.filter(({ name }) => record[name] !== undefined);
  return Object.fromEntries(
    present.map((field) => [field.name, storedValue(field, record[field.name])]),
  );
}

function storedValue({ kind, of }: StoredFieldRule, value: unknown): unknown {
  if (kind === 'price') return new Double(Number(value));
  if (kind !== 'list' || !of || !Array.isArray(value)) return value;
  return value.map((item: Fields) => storedForm(listFields(of), item));
}

function isSame(fields: readonly StoredFieldRule[], one: unknown, other: unknown): boolean {
  if (!isObject(one) || !isObject(other)) return false;
  return fields.every((field) => isSameValue(field, one[field.name], other[field.name]));
}

/** A stored null counts as lacking. */
function isSameValue({ kind, of }: StoredFieldRule, one: unknown, other: unknown): boolean {
  if (kind === 'price') return one === numberOf(other);
  if (kind !== 'list' || !of) return one === (other ?? undefined);
  if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
  return one.every((item, i) => isSame(listFields(of), item, other[i]));
}

/** Others may store prices as Long or Decimal128. */
function numberOf(price: unknown): unknown {
  if (!isObject(price) || !['Long', 'Decimal128'].includes(String(price['_bsontype'])))
    return price;
  return Number(price);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
