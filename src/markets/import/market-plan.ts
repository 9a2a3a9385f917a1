import type { Document } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import { MARKET_IDENTITY } from '../market.schema.js';
import { contentFields, contentOf } from './market-content.js';
import type { Fields, MarketRecord } from './market-record.js';

/** What the records of one market come to. */
export interface MarketPlan {
  /** How many of the records make a difference to what was there before them. */
  readonly changes: number;
  /** The fields to set when the market is stored; fields that others have added to it stay. */
  readonly fields: Fields;
  /** The whole market, when it is not stored. */
  readonly document: Document;
}

/** What a record lacks is emptied. */
const EMPTY: Fields = Object.fromEntries(contentFields.map(({ name }) => [name, null]));

/** The identity as the key of a map. */
export function identityKey(market: Fields): string {
  return JSON.stringify(MARKET_IDENTITY.map((field) => market[field]));
}

/**
 * Plans what the records of one market change, the last of which holds. Undefined when that one is stored already:
 * nothing is written then, and none of them counts as a change.
 */
export function planMarket(
  records: readonly MarketRecord[],
  stored: Fields | undefined,
  now: Date,
): MarketPlan | undefined {
  const before = stored && contentOf(stored);
  const contents = records.map(contentOf);
  if (isDeepStrictEqual(contents.at(-1), before)) return undefined;
  const changes = records.filter((_record, index) => {
    const previous = index === 0 ? before : contents[index - 1];
    return !isDeepStrictEqual(contents[index], previous);
  });
  const content = { ...EMPTY, ...contents.at(-1) };
  const updatedAt = changes.at(-1)?.updatedAt ?? now;
  const createdAt = changes.findLast((change) => change.createdAt)?.createdAt;
  return {
    changes: changes.length,
    fields: { ...content, ...(createdAt && { createdAt }), updatedAt },
    document: { ...content, createdAt: createdAt ?? now, updatedAt },
  };
}
