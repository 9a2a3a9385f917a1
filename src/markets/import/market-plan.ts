import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import { EXACT_COLLATION } from '../../database/driver-options.js';
import { MARKET_IDENTITY } from '../market.schema.js';
import { contentFields, contentOf } from './market-content.js';
import type { Fields, MarketRecord } from './market-record.js';

/** What the records of one market come to. */
export interface MarketPlan {
  /** How many of the records make a difference to what was there before them. */
  readonly changes: number;
  /** One write for all of them, unless nothing changes: right also for a market that somebody else has made meanwhile. */
  readonly write?: AnyBulkWriteOperation;
  /** The same for a market that is as it was when it was read, else nothing: it costs MongoDB half. */
  readonly writeAsRead?: AnyBulkWriteOperation;
  /** The whole market, if it is not stored: to insert it costs MongoDB much less. */
  readonly document?: Document;
}

/** Compares BSON types, too: a market that another writer stored otherwise is written again. */
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
  const contents = records.map(contentOf);
  let before = stored && contentOf(stored);
  if (isDeepStrictEqual(contents.at(-1), before)) return { changes: 0 };
  const changes = records.filter((_record, index) => {
    const isChange = !isDeepStrictEqual(contents[index], before);
    before = contents[index];
    return isChange;
  });
  const record = changes.at(-1);
  if (!record) return { changes: 0 };
  const createdAt = changes.findLast((change) => change.createdAt)?.createdAt;
  const updatedAt = record.updatedAt ?? now;
  const given = contentOf(record);
  // What the record lacks is emptied.
  const content = Object.fromEntries(contentFields.map(({ name }) => [name, given[name] ?? null]));
  const plan = { changes: changes.length, write: upsert(content, { createdAt, updatedAt, now }) };
  const document = { ...content, createdAt: createdAt ?? now, updatedAt };
  if (!stored) return { ...plan, document };
  const changed = { ...content, ...(createdAt && { createdAt }), updatedAt };
  return { ...plan, writeAsRead: updateAsRead(stored, changed) };
}

function updateAsRead({ _id, updatedAt }: Fields, changed: Fields): AnyBulkWriteOperation {
  const filter = { _id: { $eq: _id }, updatedAt: { $eq: updatedAt ?? null } } as Document;
  return { updateOne: { filter, update: { $set: changed }, collation: EXACT_COLLATION } };
}

interface Dates {
  /** Unset: as stored, or `now` for a new market. */
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date;
  readonly now: Date;
}

/**
 * One atomic change to a market; fields that others have added to it stay. MongoDB compares once more: another import
 * may have written the same since the market was read.
 */
function upsert(content: Fields, { createdAt, updatedAt, now }: Dates): AnyBulkWriteOperation {
  const isNew = { $eq: [{ $type: '$_id' }, 'missing'] };
  const dates = { createdAt: createdAt ?? { $cond: [isNew, now, '$createdAt'] }, updatedAt };
  const changed = { $mergeObjects: ['$$ROOT', '$$record', dates] };
  return {
    updateOne: {
      filter: Object.fromEntries(MARKET_IDENTITY.map((name) => [name, content[name]])),
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
