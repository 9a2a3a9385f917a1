import { Binary, ObjectId } from 'mongodb';
import { idText } from '../id-text.js';

/** An `_id` that memory can hold: unique as a key, comparable as MongoDB compares. */
export interface OrderedId {
  readonly key: string;
  /** The place of its type in MongoDB's order of types. */
  readonly rank: number;
  readonly value: string | number;
}

const [NUMBER, STRING, BINARY, OBJECT_ID] = [1, 2, 3, 4];

/** What broken UTF-8 becomes in JavaScript, where different texts of MongoDB then look the same. */
export const REPLACEMENT_CHARACTER = '\ufffd';

/** Keys of binary ids, UUIDs for one, begin with this letter: length, subtype and bytes follow in hex. */
const BINARY_KEY = 'x';
const UNORDERED_KEY = '?';
const LENGTH_DIGITS = 8;
const SUBTYPE_DIGITS = 2;

/** Memory can hold ids that are numbers, strings, binary or ObjectIds. Scopes with others are left to MongoDB. */
export function orderedIdOf(id: unknown): OrderedId | undefined {
  const key = keyOf(id);
  return key === undefined ? undefined : idOfKey(key);
}

function keyOf(id: unknown): string | undefined {
  if (typeof id === 'number' && !Number.isNaN(id)) return `n${id}`;
  if (typeof id === 'string' && !id.includes(REPLACEMENT_CHARACTER)) return `s${id}`;
  // The keys of other kinds begin with a character that is no hex digit.
  if (id instanceof ObjectId) return id.toHexString();
  if (id instanceof Binary && id.sub_type !== Binary.SUBTYPE_BYTE_ARRAY) return binaryKey(id);
  return undefined;
}

/** MongoDB's order: numbers, then strings by their UTF-8 bytes, then binary ids, then ObjectIds. */
export function compareIds(one: OrderedId, other: OrderedId): number {
  if (one.rank !== other.rank) return one.rank - other.rank;
  if (one.rank === STRING && typeof one.value === 'string' && typeof other.value === 'string') {
    return Buffer.compare(Buffer.from(one.value), Buffer.from(other.value));
  }
  return Number(one.value > other.value) - Number(one.value < other.value);
}

/** The id that has a key. */
export function idOfKey(key: string): OrderedId {
  if (key.startsWith('s')) return { key, rank: STRING, value: key.slice(1) };
  if (key.startsWith('n')) return { key, rank: NUMBER, value: Number(key.slice(1)) };
  if (key.startsWith(BINARY_KEY)) return { key, rank: BINARY, value: key.slice(1) };
  return { key, rank: OBJECT_ID, value: key };
}

/** The key of an id that memory can't order. */
export function unorderedKey(id: unknown): string {
  return UNORDERED_KEY + idText(id);
}

/** The id that has a key, as callers see it. */
export function textOfKey(key: string): string {
  if (!key.startsWith(BINARY_KEY)) return /^[ns?]/.test(key) ? key.slice(1) : key;
  const bytesAt = 1 + LENGTH_DIGITS + SUBTYPE_DIGITS;
  const subtype = Number.parseInt(key.slice(1 + LENGTH_DIGITS, bytesAt), 16);
  return idText(new Binary(Buffer.from(key.slice(bytesAt), 'hex'), subtype));
}

/** A text with the order that MongoDB gives binary ids: by length, then subtype, then bytes. */
function binaryKey(id: Binary): string {
  const length = id.length().toString(16).padStart(LENGTH_DIGITS, '0');
  const subtype = id.sub_type.toString(16).padStart(SUBTYPE_DIGITS, '0');
  return BINARY_KEY + length + subtype + id.toString('hex');
}
