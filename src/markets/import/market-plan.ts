import { Double, type AnyBulkWriteOperation } from 'mongodb';
import { EXACT_COLLATION } from '../../database/exact-comparison.js';
import { listFields, type StoredFieldRule } from '../stored-field.decorator.js';
import { Market, MARKET_IDENTITY } from '../market.schema.js';
import type { Fields, MarketRecord } from './market-record.js';

export type Outcome = 'inserted' | 'updated' | 'unchanged';

/** What the records of one market come to. */
export interface MarketPlan {
  /** How many of the records make a difference to what was there before them. */
  readonly changes: number;
  /** One write for all of them, unless nothing changes. */
  readonly write?: AnyBulkWriteOperation;
}

const DATES = ['createdAt', 'updatedAt'];

/** The fields that make a difference between two states of a market. */
export const contentFields = listFields(Market).filter(
  ({ name, generated }) => !generated && !DATES.includes(name),
);

/** As the importer itself stores markets: one that somebody else stored otherwise is written again. */
const IS_UNCHANGED = {
  $and: contentFields.map(({ name }) => ({ $eq: [`$${name}`, `$$record.${name}`] })),
};

/** The identity as the key of a map. */
export function identityKey(market: Fields): string {
  return JSON.stringify(MARKET_IDENTITY.map((field) => market[field]));
}

/**
 * Plans one write for the records of one market, the last of which holds. When that one is stored already,
 * nothing is written, and none of them counts as a change.
 */
export function planMarket(
  records: readonly MarketRecord[],
  stored: Fields | undefined,
  now: Date,
): MarketPlan {
  if (stored && isSame(contentFields, records.at(-1), stored)) return { changes: 0 };
  let previous = stored;
  const changes = records.filter((record) => {
    if (isSame(contentFields, record, previous)) return false;
    previous = record;
    return true;
  });
  return { changes: changes.length, write: upsert(changes, now) };
}

/**
 * One atomic change to the last of the records; fields that others have added to the market stay. MongoDB compares
 * once more: another import may have written the same since the market was read.
 */
function upsert(changes: readonly MarketRecord[], now: Date): AnyBulkWriteOperation | undefined {
  const record = changes.at(-1);
  if (!record) return undefined;
  const given = changes.findLast((change) => change.createdAt)?.createdAt;
  const isNew = { $eq: [{ $type: '$_id' }, 'missing'] };
  const dates = {
    createdAt: given ?? { $cond: [isNew, now, '$createdAt'] },
    updatedAt: record.updatedAt ?? now,
  };
  const absent = contentFields.filter(({ name }) => record[name] === undefined);
  const emptied = Object.fromEntries(absent.map(({ name }) => [name, null]));
  const content = { ...emptied, ...storedForm(contentFields, record) };
  const changed = { $mergeObjects: ['$$ROOT', '$$record', dates] };
  return {
    updateOne: {
      filter: Object.fromEntries(MARKET_IDENTITY.map((name) => [name, record[name]])),
      update: [
        {
          $replaceWith: {
            $let: {
              vars: { record: { $literal: content } },
              in: { $cond: [IS_UNCHANGED, '$$ROOT', changed] },
            },
          },
        },
      ],
      upsert: true,
      collation: EXACT_COLLATION,
    },
  };
}

/** As BSON: prices are doubles, whole ones too. */
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
