import { Binary, ObjectId } from 'mongodb';
import { idText } from '../id-text.js';

/** A key begins with the type of its id: these are in MongoDB's order of types. */
const [NUMBER, STRING, BINARY, OBJECT_ID] = ['1', '2', '3', '4'] as const;
const UNORDERED = '?';

/** The key of a binary id, such as a UUID, holds its length, subtype and bytes in hex. */
const LENGTH_DIGITS = 8;
const SUBTYPE_DIGITS = 2;

/** Whether memory can compare a text: broken UTF-8 is read as U+FFFD, so texts that differ would look equal. */
export function isComparable(text: string): boolean {
  return !text.includes('\ufffd');
}

/**
 * The key of an `_id` that memory can hold: unique, and comparable as MongoDB compares the ids. Undefined for other
 * types, NaN, broken text and binary of the old subtype: scopes with such an `_id` are left to MongoDB.
 */
export function orderedKey(id: unknown): string | undefined {
  if (typeof id === 'number' && !Number.isNaN(id)) return `${NUMBER}${id}`;
  if (typeof id === 'string' && isComparable(id)) return STRING + id;
  if (id instanceof ObjectId) return OBJECT_ID + id.toHexString();
  if (id instanceof Binary && id.sub_type !== Binary.SUBTYPE_BYTE_ARRAY) return binaryKey(id);
  return undefined;
}

/** The key of any `_id`, of those that memory can't order as well. */
export function keyOfId(id: unknown): string {
  return orderedKey(id) ?? UNORDERED + idText(id);
}

/** MongoDB's order: numbers, then strings by their UTF-8 bytes, then binary ids, then ObjectIds. */
export function compareKeys(one: string, other: string): number {
  const types = one.charAt(0) + other.charAt(0);
  if (types === STRING + STRING) return Buffer.compare(Buffer.from(one), Buffer.from(other));
  if (types === NUMBER + NUMBER) return compare(Number(one.slice(1)), Number(other.slice(1)));
  return compare(one, other);
}

/** The id that has a key, as callers see it. */
export function textOfKey(key: string): string {
  if (!key.startsWith(BINARY)) return key.slice(1);
  const bytesAt = 1 + LENGTH_DIGITS + SUBTYPE_DIGITS;
  const subtype = Number.parseInt(key.slice(1 + LENGTH_DIGITS, bytesAt), 16);
  return idText(new Binary(Buffer.from(key.slice(bytesAt), 'hex'), subtype));
}

/** A text with the order that MongoDB gives binary ids: by length, then subtype, then bytes. */
function binaryKey(id: Binary): string {
  const length = id.length().toString(16).padStart(LENGTH_DIGITS, '0');
  const subtype = id.sub_type.toString(16).padStart(SUBTYPE_DIGITS, '0');
  return BINARY + length + subtype + id.toString('hex');
}

function compare<T extends string | number>(one: T, other: T): number {
  return Number(one > other) - Number(one < other);
}
