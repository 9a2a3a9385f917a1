import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
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
import { Market } from '../market.schema.js';
import { contentFields, identityKey, planMarket, type Outcome } from './market-plan.js';
import type { Fields, MarketRecord } from './market-record.js';

/** A record that passed the check, with its place and its length in the input. */
export interface ImportEntry {
  readonly file: string;
  readonly line: number;
  readonly bytes: number;
  readonly record: MarketRecord;
}

export type EntryOutcome =
  | { readonly entry: ImportEntry; readonly outcome: Outcome }
  | { readonly entry: ImportEntry; readonly outcome: 'rejected'; readonly reason: string };

/** One market of a batch. */
interface MarketWrite {
  readonly entries: readonly ImportEntry[];
  outcomes: readonly Outcome[];
  readonly write?: AnyBulkWriteOperation;
  refusal?: string;
}

const DOCUMENT_LIMIT_BYTES = 16 * 1024 * 1024;
/** JSON at most doubles when it becomes BSON, so shorter records need no measuring. */
const SURELY_FITS_BYTES = 4 * 1024 * 1024;
const DUPLICATE_KEY = 11_000;

/** Brings batches of records into the collection: new markets in, changed ones changed, the others left alone. */
@Injectable()
export class MarketImporter {
  constructor(@InjectModel(Market.name) private readonly markets: Model<Market>) {}

  /**
   * Writes a batch, each market whole and at once.
   * @throws when MongoDB can't be used; what is written by then stays, and writing it again changes nothing
   */
  async write(entries: readonly ImportEntry[], dryRun: boolean): Promise<EntryOutcome[]> {
    const markets = await this.plan(entries);
    const changed = markets.filter(({ write }) => write);
    for (const market of changed.filter(isTooLarge)) {
      market.refusal = 'makes a document above the 16 MiB of MongoDB';
    }
    if (!dryRun) await this.execute(changed.filter(({ refusal }) => !refusal));
    return markets.flatMap(outcomesOf);
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
      return { entries: group, ...planMarket(records, stored.get(key), now) };
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

  private async execute(markets: readonly MarketWrite[], isRetry = false): Promise<void> {
    if (markets.length === 0) return;
    const { result, errors } = await this.bulkWrite(markets.flatMap(({ write }) => write ?? []));
    const errorAt = new Map(errors.map((error) => [error.index, error]));
    const outrun: MarketWrite[] = [];
    for (const [index, market] of markets.entries()) {
      const error = errorAt.get(index);
      if (!error) confirm(market, index in result.upsertedIds);
      else if (error.code === DUPLICATE_KEY && !isRetry) outrun.push(market);
      else
        market.refusal = `MongoDB refuses it: ${printable(error.errmsg ?? `code ${error.code}`)}`;
    }
    // Another writer has made the same market just before us: now it is there to be changed.
    await this.execute(outrun, true);
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

/** MongoDB knows whether the market was there; the plan is older. */
function confirm(market: MarketWrite, inserted: boolean): void {
  const first = market.outcomes.findIndex((outcome) => outcome !== 'unchanged');
  market.outcomes = market.outcomes.with(first, inserted ? 'inserted' : 'updated');
}

function outcomesOf({ entries, outcomes, refusal }: MarketWrite): EntryOutcome[] {
  return entries.map((entry, i) =>
    refusal === undefined
      ? { entry, outcome: outcomes[i] ?? 'unchanged' }
      : { entry, outcome: 'rejected', reason: refusal },
  );
}
