import { MongoBulkWriteError, type AnyBulkWriteOperation, type Collection } from 'mongodb';
import { EXACT_COLLATION } from '../../database/driver-options.js';
import { MARKET_IDENTITY } from '../market.schema.js';
import { MARKET_PROJECTION } from '../market-view.js';
import { groupBy } from './group-by.js';
import { contentFields, identityKey, type MarketPlan } from './market-plan.js';
import type { Fields, MarketRecord } from './market-record.js';

/** The stored markets of a batch, by identity. One clause for each event costs half of one for each market. */
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
      readConcern: { level: 'local' },
      readPreference: 'primary',
    },
  );
  return new Map((await found.toArray()).map((market) => [identityKey(market), market]));
}

export function insertOf({ fields, onInsert }: MarketPlan): AnyBulkWriteOperation {
  return { insertOne: { document: { ...fields, ...onInsert } } };
}

/**
 * Sets the fields of a stored market, and removes what they lack; inserts it again where somebody has removed it. Where
 * somebody has stored the same fields, or another identity, nothing matches, and the insert is refused: its `_id` is
 * taken.
 * @param evenIfSame whether to write the same fields, too. To `$ne` a list that holds a value is the same as the value.
 */
export function updateOf(
  _id: unknown,
  { fields, onInsert }: MarketPlan,
  evenIfSame: boolean,
): AnyBulkWriteOperation {
  const $or = contentFields.map(({ name }) => ({ [name]: { $ne: fields[name] ?? null } }));
  const identity = MARKET_IDENTITY.map((name) => [name, fields[name]]);
  const filter = { _id, ...Object.fromEntries(identity), ...(!evenIfSame && { $or }) };
  const lacking = contentFields.filter(({ name }) => fields[name] === undefined);
  const $unset = Object.fromEntries(lacking.map(({ name }) => [name, 1]));
  const update = { $set: fields, $setOnInsert: onInsert, $unset };
  return { updateOne: { filter, update, upsert: true, collation: EXACT_COLLATION } };
}

/** Writes them all; tells why some were refused, by the index of their operation. @throws when MongoDB can't be used */
export async function bulkWrite(markets: Collection, operations: AnyBulkWriteOperation[]) {
  const options = { ordered: false, writeConcern: { w: 'majority' } } as const;
  const result = await markets.bulkWrite(operations, options).catch((error: unknown) => {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    // Without errors of single markets the whole write has failed, or a majority may lack it.
    if ([error.writeErrors].flat().length === 0) throw error;
    return error.result;
  });
  return { result, errors: new Map(result.getWriteErrors().map((each) => [each.index, each])) };
}
