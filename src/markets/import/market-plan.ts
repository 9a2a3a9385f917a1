import { Double, type Document } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import { Market, MARKET_IDENTITY } from '../market.schema.js';
import { isDocument, numberOf } from '../market-view.js';
import { listFields, type Fields, type StoredFieldRule } from '../stored-field.decorator.js';
import type { MarketRecord } from './market-record.js';

/** What the records of one market change. */
export interface MarketPlan {
  /** How many of the records make a difference to what was there before them. */
  readonly changes: number;
  /** The fields to set when the market is stored; fields that others have added to it stay. */
  readonly fields: Fields;
  /** The whole market, when it is not stored. */
  readonly document: Document;
}

/** The fields that make a difference between two states of a market. */
export const contentFields = listFields(Market).filter(
  ({ kind }) => kind !== 'objectId' && kind !== 'date',
);

/** The identity as the key of a map. */
export function identityKey(market: Fields): string {
  return JSON.stringify(MARKET_IDENTITY.map((field) => market[field]));
}

/**
 * Plans what the records of one market change; the last of them is what will be stored. Undefined when that is stored
 * already: nothing is written then, and none of them counts as a change.
 */
export function planMarket(
  records: readonly MarketRecord[],
  stored: Fields | undefined,
  now: Date,
): MarketPlan | undefined {
  // What is stored, then what each record makes of it.
  const states = [stored, ...records].map((state) => state && contentOf(state, contentFields));
  const content = states.at(-1);
  if (isDeepStrictEqual(content, states[0])) return undefined;
  const changed = records.filter(
    (_record, index) => !isDeepStrictEqual(states[index + 1], states[index]),
  );
  const updatedAt = changed.at(-1)?.updatedAt ?? now;
  const createdAt = changed.findLast((record) => record.createdAt)?.createdAt;
  return {
    changes: changed.length,
    fields: { ...content, ...(createdAt && { createdAt }), updatedAt },
    document: { ...content, createdAt: createdAt ?? now, updatedAt },
  };
}

/** These fields as an import stores them: prices are doubles, nulls are left out. */
function contentOf(document: Fields, rules: readonly StoredFieldRule[]): Fields {
  const fields = rules.map((rule) => [rule.name, storedValue(rule, document[rule.name])] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function storedValue({ kind, of }: StoredFieldRule, value: unknown): unknown {
  const price = kind === 'price' ? numberOf(value) : undefined;
  if (price !== undefined) return new Double(price);
  if (!of || !Array.isArray(value)) return value ?? undefined;
  return value.map((item: unknown) => (isDocument(item) ? contentOf(item, listFields(of)) : item));
}
