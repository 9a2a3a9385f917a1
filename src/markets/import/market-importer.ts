import {
  BSON,
  MongoBulkWriteError,
  type AnyBulkWriteOperation,
  type BulkWriteResult,
  type WriteError,
} from 'mongodb';
import type { Model } from 'mongoose';
import { EXACT_COLLATION } from '../../database/exact-comparison.js';
import { printable } from '../../common/command.js';
import type { Market } from '../market.schema.js';
import { BatchTally, type BatchOutcome, type ImportEntry } from './batch-tally.js';
import { contentFields, identityKey, planMarket, type MarketPlan } from './market-plan.js';
import type { Fields } from './market-record.js';

/** One market of a batch. */
interface MarketWrite extends MarketPlan {
  readonly entries: readonly ImportEntry[];
  readonly isStored: boolean;
}

const DOCUMENT_LIMIT_BYTES = 16 * 1024 * 1024;
/** JSON at most doubles when it becomes BSON, so shorter records need no measuring. */
const SURELY_FITS_BYTES = 4 * 1024 * 1024;
const TOO_LARGE = 'makes a document above the 16 MiB of MongoDB';

/** Brings batches of records into the collection: new markets in, changed ones changed, the others left alone. */
export class MarketImporter {
  constructor(private readonly markets: Pick<Model<Market>, 'collection'>) {}

  /**
   * Writes a batch, each market whole and at once.
   * @throws when MongoDB can't be used; what is written by then stays, and writing it again changes nothing
   */
  async write(entries: readonly ImportEntry[], dryRun: boolean): Promise<BatchOutcome> {
    const tally = new BatchTally();
    const markets: MarketWrite[] = [];
    for (const market of await this.plan(entries)) {
      if (!market.write) tally.count(market, 'unchanged');
      else if (isTooLarge(market)) tally.refuse(market, TOO_LARGE);
      else if (dryRun) tally.count(market, market.isStored ? 'updated' : 'inserted');
      else markets.push(market);
    }
    // MongoDB tells how many markets of a write it changed, not which: those of as many changes go together.
    for (const changes of new Set(markets.map((market) => market.changes))) {
      await this.execute(
        markets.filter((market) => market.changes === changes),
        tally,
      );
    }
    return tally;
  }

  private async plan(entries: readonly ImportEntry[]): Promise<MarketWrite[]> {
    const groups = new Map<string, ImportEntry[]>();
    for (const entry of entries) {
      const key = identityKey(entry.record);
      const group = groups.get(key);
      if (group) group.push(entry);
      else groups.set(key, [entry]);
    }
    const stored = await this.findStored(entries);
    const now = new Date();
    return [...groups].map(([key, group]) => {
      const records = group.map(({ record }) => record);
      const before = stored.get(key);
      return { entries: group, isStored: !!before, ...planMarket(records, before, now) };
    });
  }

  /** The stored markets of a batch, by identity. One clause for each event costs half of one for each market. */
  private async findStored(entries: readonly ImportEntry[]): Promise<Map<string, Fields>> {
    const events = new Map<string, { provider: string; eventId: string; marketIds: string[] }>();
    for (const { record } of entries) {
      const { provider, eventId, marketId } = record;
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
    const projection = Object.fromEntries(contentFields.map(({ name }) => [name, 1]));
    const found = this.markets.collection.find(
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

  private async execute(markets: readonly MarketWrite[], tally: BatchTally): Promise<void> {
    const { result, errors } = await this.bulkWrite(markets.flatMap(({ write }) => write ?? []));
    const errorAt = new Map(errors.map((error) => [error.index, error]));
    let modified = result.modifiedCount;
    for (const [index, market] of markets.entries()) {
      const error = errorAt.get(index);
      if (error) tally.refuse(market, refusalOf(error));
      else if (index in result.upsertedIds) tally.count(market, 'inserted');
      else tally.count(market, modified-- > 0 ? 'updated' : 'unchanged');
    }
  }

  private async bulkWrite(
    operations: AnyBulkWriteOperation[],
  ): Promise<{ result: BulkWriteResult; errors: readonly WriteError[] }> {
    try {
      const result = await this.markets.collection.bulkWrite(operations, {
        ordered: false,
        writeConcern: { w: 'majority' },
      });
      return { result, errors: [] };
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      // Errors of single markets are told here; anything graver has the result alone.
      const errors = [error.writeErrors].flat();
      if (errors.length === 0 || error.result.getWriteConcernError()) throw error;
      return { result: error.result, errors };
    }
  }
}

function isTooLarge({ entries, write }: MarketWrite): boolean {
  if (!write || entries.every(({ bytes }) => bytes < SURELY_FITS_BYTES)) return false;
  return BSON.calculateObjectSize(write) >= DOCUMENT_LIMIT_BYTES;
}

function refusalOf({ errmsg, code }: WriteError): string {
  return `MongoDB refuses it: ${printable(errmsg ?? `code ${code}`)}`;
}
