import {
  MongoBulkWriteError,
  type AnyBulkWriteOperation,
  type Collection,
  type Document,
} from 'mongodb';
import { EXACT_COLLATION } from '../../database/driver-options.js';
import { MARKET_IDENTITY } from '../market.schema.js';
import { MARKET_PROJECTION } from '../market-view.js';
import { groupBy } from './group-by.js';
import { contentFields, identityKey } from './market-plan.js';
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

/**
 * Sets the fields of a stored market, and removes what they lack, unless another import has done the same since it
 * was read.
 * @param isLarge the command would be too long with the market in it twice: it is not compared
 */
export function updateOf(fields: Fields, isLarge: boolean): AnyBulkWriteOperation {
  // Compared by expressions: a plain `$ne` takes a list that holds the value for the value itself.
  const $or = contentFields.map(({ name }) => ({
    $ne: [{ $ifNull: [`$${name}`, null] }, { $literal: fields[name] ?? null }],
  }));
  const filter = isLarge ? identityOf(fields) : { ...identityOf(fields), $expr: { $or } };
  const lacking = contentFields.filter(({ name }) => fields[name] === undefined);
  const $unset = Object.fromEntries(lacking.map(({ name }) => [name, 1]));
  const update = { $set: fields, $unset };
  return { updateOne: { filter, update, collation: EXACT_COLLATION } };
}

/** Inserts a market unless it is stored. */
export function insertIfMissing(document: Document): AnyBulkWriteOperation {
  const update = { $setOnInsert: document };
  const filter = identityOf(document);
  return { updateOne: { filter, update, upsert: true, collation: EXACT_COLLATION } };
}

function identityOf(market: Fields): Document {
  return Object.fromEntries(MARKET_IDENTITY.map((name) => [name, market[name]]));
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
