import {
  MongoBulkWriteError,
  type AnyBulkWriteOperation,
  type BulkWriteResult,
  type Collection,
  type WriteError,
} from 'mongodb';
import { EXACT_COLLATION } from '../../database/driver-options.js';
import { contentFields } from './market-content.js';
import { identityKey } from './market-plan.js';
import type { Fields, MarketRecord } from './market-record.js';

/** The stored markets of a batch, by identity. One clause for each event costs half of one for each market. */
export async function findStored(
  markets: Collection,
  records: readonly MarketRecord[],
): Promise<Map<string, Fields>> {
  const events = new Map<string, { provider: string; eventId: string; marketIds: string[] }>();
  for (const { provider, eventId, marketId } of records) {
    const key = JSON.stringify([provider, eventId]);
    const event = events.get(key);
    if (event) event.marketIds.push(marketId);
    else events.set(key, { provider, eventId, marketIds: [marketId] });
  }
  const filter = [...events.values()].map(({ provider, eventId, marketIds }) => ({
    provider,
    eventId,
    marketId: { $in: marketIds },
  }));
  const names = [...contentFields.map(({ name }) => name), 'updatedAt'];
  const projection = Object.fromEntries(names.map((name) => [name, 1]));
  const found = markets.find(
    { $or: filter },
    {
      projection,
      collation: EXACT_COLLATION,
      readConcern: { level: 'local' },
      readPreference: 'primary',
    },
  );
  return new Map((await found.toArray()).map((market) => [identityKey(market), market]));
}

/** Writes them all, and tells which were refused. @throws when MongoDB can't be used */
export async function bulkWrite(
  markets: Collection,
  operations: AnyBulkWriteOperation[],
): Promise<{ result: BulkWriteResult; errors: readonly WriteError[] }> {
  try {
    const result = await markets.bulkWrite(operations, {
      ordered: false,
      writeConcern: { w: 'majority' },
    });
    return { result, errors: [] };
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    // Without errors of single markets the whole write has failed.
    const errors = [error.writeErrors].flat();
    if (errors.length === 0 || error.result.getWriteConcernError()) throw error;
    return { result: error.result, errors };
  }
}
