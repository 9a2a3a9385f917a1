import {
  BSON,
  MongoBulkWriteError,
  ObjectId,
  type AnyBulkWriteOperation,
  type Collection,
} from 'mongodb';
import { groupBy } from '../../common/group-by.js';
import { BY_MAJORITY, EXACT_COLLATION } from '../../database/driver-options.js';
import { USER_WRITES_BLOCKED } from '../../database/mongo-errors.js';
import { MARKET_IDENTITY } from '../market.schema.js';
import { MARKET_PROJECTION } from '../market-view.js';
import type { Fields } from '../stored-field.decorator.js';
import { contentFields, identityKey, planMarket, type MarketPlan } from './market-plan.js';
import type { MarketRecord } from './market-record.js';
import { DOCUMENT_BYTES_MAX } from './raw-record.js';

/** BSON takes at most twice the bytes of JSON, so that a shorter record makes no write that is too large. */
const MEASURED_FROM_BYTES = DOCUMENT_BYTES_MAX / 4;

/** The stored markets of a batch, by identity. A clause for each event takes half the time of one for each market. */
export async function findStored(
  markets: Collection,
  records: readonly MarketRecord[],
): Promise<ReadonlyMap<string, Fields>> {
  const events = groupBy(records, ({ provider, eventId }) => JSON.stringify([provider, eventId]));
  const ofEvents = [...events.values()].map((ofEvent) => ({
    provider: ofEvent[0].provider,
    eventId: ofEvent[0].eventId,
    marketId: { $in: ofEvent.map(({ marketId }) => marketId) },
  }));
  const found = markets.find(
    { $or: ofEvents },
    {
      projection: MARKET_PROJECTION,
      collation: EXACT_COLLATION,
      readPreference: 'primary',
    },
  );
  return new Map((await found.toArray()).map((market) => [identityKey(market), market]));
}

/** Inserts a market, which costs MongoDB a fifth of an upsert that does so. */
export function insertOf({ document }: MarketPlan): AnyBulkWriteOperation {
  return { insertOne: { document } };
}

/** Whether a market `was` stored as it is to be `now`. */
const IS_STORED = {
  $and: contentFields.map(({ name }) => ({ $eq: [`$was.${name}`, `$now.${name}`] })),
};
const IS_MISSING = { $eq: [{ $type: '$was._id' }, 'missing'] };

/**
 * Stores the fields of a market and removes what they lack, unless all is stored already: MongoDB compares by itself,
 * since others may write meanwhile. What nobody has stored is inserted.
 */
export function upsertOf({ fields, document }: MarketPlan): AnyBulkWriteOperation {
  const names = contentFields.map(({ name }) => name);
  const lacking = names.filter((name) => fields[name] === undefined);
  const created = { $cond: [IS_MISSING, { createdAt: document['createdAt'] }, {}] };
  const update = [
    // The fields stand in it once, so that a market of nearly 16 MiB fits into the command.
    { $replaceWith: { was: '$$ROOT', now: { $literal: fields } } },
    { $replaceWith: { $cond: [IS_STORED, '$was', { $mergeObjects: [created, '$was', '$now'] }] } },
    ...(lacking.length > 0 ? [{ $unset: lacking }] : []),
  ];
  const filter = Object.fromEntries(MARKET_IDENTITY.map((name) => [name, fields[name]]));
  return { updateOne: { filter, update, upsert: true, collation: EXACT_COLLATION } };
}

/** Writes them all, in no order; the result tells what was refused. @throws when MongoDB can't be used */
export async function bulkWrite(markets: Collection, operations: AnyBulkWriteOperation[]) {
  const options = { ordered: false, ...BY_MAJORITY };
  return markets.bulkWrite(operations, options).catch((error: unknown) => {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const errors = [error.writeErrors].flat();
    // Without errors of single markets the whole write has failed, or a majority may lack it.
    if (errors.length === 0 || errors.some(({ code }) => code === USER_WRITES_BLOCKED)) throw error;
    return error.result;
  });
}

/**
 * Waits until a majority has all that was written so far, as MongoDB does after an update that finds nothing. The driver
 * would send an `updateOne` again, to the next primary, which may lack what was found.
 */
export async function waitForMajority(markets: Collection): Promise<void> {
  await markets.updateMany({ _id: new ObjectId() }, { $set: {} }, BY_MAJORITY);
}

/** Whether the write of a record is larger than MongoDB takes. @param bytes of its JSON */
export function isTooLarge(record: MarketRecord, bytes: number): boolean {
  if (bytes < MEASURED_FROM_BYTES) return false;
  const plan = planMarket([record], undefined, new Date());
  return plan !== undefined && BSON.calculateObjectSize(upsertOf(plan)) >= DOCUMENT_BYTES_MAX;
}
