import type { Timestamp } from 'mongodb';
import { filteredOf } from '../conditions.js';
import { marketJson } from '../market-view.js';
import type { Fields } from '../stored-field.decorator.js';
import { orderedKey } from './id-order.js';

/** A market in memory: ready to be put into an answer. */
export interface CachedMarket {
  /** Its `_id`, as `orderedKey` makes it. */
  readonly key: string;
  readonly json: string;
  /** The fields that the filters judge. */
  readonly filtered: Fields;
  /** The filtered fields have been the same at least since this cluster time. */
  readonly filteredSince: Timestamp;
  /** What it takes in memory, about. */
  readonly bytes: number;
}

/** What a market takes beside its text. Bytes, measured with 50,000 markets. */
const OVERHEAD_BYTES = 700;

/**
 * @param asOf the cluster time of what is stored
 * @returns undefined where memory can't order its `_id`
 */
export function cachedMarketOf(stored: Fields, asOf: Timestamp): CachedMarket | undefined {
  const key = orderedKey(stored['_id']);
  if (key === undefined) return undefined;
  const filtered = filteredOf(stored);
  const json = marketJson(stored);
  return { key, json, filtered, filteredSince: asOf, bytes: OVERHEAD_BYTES + textBytes(json) };
}

/** V8 takes one byte for each character of a text that is all Latin-1, else two. */
function textBytes(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length;
}
