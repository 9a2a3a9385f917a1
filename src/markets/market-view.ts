import { BSON } from 'mongodb';
import { plainDocument } from '../database/driver-options.js';
import { listFields, type Fields, type StoredFieldRule } from './stored-field.decorator.js';
import { idText } from './id-text.js';
import { Market } from './market.schema.js';

const marketFields = listFields(Market);

/** Reads the fields that an answer shows, and no others. */
export const MARKET_PROJECTION: Readonly<Record<string, 1>> = Object.fromEntries(
  marketFields.map(({ name }) => [name, 1 as const]),
);

/** A stored market as JSON text, with the fields of the interface. What is missing, or can't be shown, is left out. */
export function marketJson(stored: Fields): string {
  return JSON.stringify(view(stored, marketFields));
}

function view(stored: Fields, fields: readonly StoredFieldRule[]): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  const plain = plainDocument(stored);
  for (const field of fields) {
    const value = shownValue(plain[field.name], field);
    if (value !== undefined) shown[field.name] = value;
  }
  return shown;
}

function shownValue(value: unknown, { kind, of }: StoredFieldRule): unknown {
  switch (kind) {
    case 'text':
    case 'exact':
      return typeof value === 'string' ? value : undefined;
    case 'price':
      return numberOf(value);
    case 'date':
      return isoDate(value);
    case 'objectId':
      return idText(value);
    default:
      return listOf(value, of);
  }
}

const BSON_NUMBERS = [BSON.Int32, BSON.Long, BSON.Double, BSON.Decimal128];

/** A finite number of whatever BSON type. To JavaScript a Timestamp is a Long, too. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  const isNumber = BSON_NUMBERS.some((type) => value instanceof type);
  return isNumber && !(value instanceof BSON.Timestamp)
    ? numberOf(Number(String(value)))
    : undefined;
}

/** Years outside 0 to 9999 have a longer form, which not every client can read. */
const ISO_LENGTH = 24;

/** A date, or a text that is exactly what a date would be shown as. */
function isoDate(value: unknown): string | undefined {
  const isText = typeof value === 'string' && value.length === ISO_LENGTH;
  const date = isText ? new Date(value) : value;
  if (!(date instanceof Date) || Number.isNaN(date.getTime())) return undefined;
  const text = date.toISOString();
  return text.length === ISO_LENGTH && (!isText || text === value) ? text : undefined;
}

function listOf(value: unknown, of: StoredFieldRule['of']): unknown {
  if (!Array.isArray(value) || !of) return undefined;
  const fields = listFields(of);
  return value.filter(isDocument).map((element) => view(element, fields));
}

export function isDocument(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
