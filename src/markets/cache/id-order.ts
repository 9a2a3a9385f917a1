import { ObjectId } from 'mongodb';

/** An `_id` that memory can hold: unique as a key, comparable as MongoDB compares. */
export interface OrderedId {
  readonly key: string;
  /** Place of its type in the BSON comparison order. */
  readonly rank: number;
  readonly value: string | number;
}

const STRING = 2;

/** What broken UTF-8 becomes in JavaScript: different texts in MongoDB look the same here. */
export const REPLACEMENT_CHARACTER = '\ufffd';

/** The ids that memory can hold: numbers, strings and ObjectIds. Scopes with others are left to MongoDB. */
export function orderedIdOf(id: unknown): OrderedId | undefined {
  if (typeof id === 'number' && !Number.isNaN(id)) return { key: `n${id}`, rank: 1, value: id };
  if (typeof id === 'string' && !id.includes(REPLACEMENT_CHARACTER)) {
    return { key: `s${id}`, rank: STRING, value: id };
  }
  if (id instanceof ObjectId) {
    const hex = id.toHexString();
    // As a key unlike the others, which begin with a letter beyond f: one text serves for both.
    return { key: hex, rank: 3, value: hex };
  }
  return undefined;
}

/** MongoDB's order: numbers, then strings by their UTF-8 bytes, then ObjectIds. */
export function compareIds(one: OrderedId, other: OrderedId): number {
  if (one.rank !== other.rank) return one.rank - other.rank;
  if (one.rank === STRING && typeof one.value === 'string' && typeof other.value === 'string') {
    return Buffer.compare(Buffer.from(one.value), Buffer.from(other.value));
  }
  return Number(one.value > other.value) - Number(one.value < other.value);
}

/** The id that has a key, and as callers see it. */
export function idOfKey(key: string): OrderedId {
  if (key.startsWith('s')) return { key, rank: STRING, value: key.slice(1) };
  if (key.startsWith('n')) return { key, rank: 1, value: Number(key.slice(1)) };
  return { key, rank: 3, value: key };
}
