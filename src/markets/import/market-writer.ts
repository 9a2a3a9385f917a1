import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { isAway } from '../../database/mongo-errors.js';
import { groupBy } from '../../common/group-by.js';
import { printable } from '../../common/text.js';
import type { ImportEntry } from './record-batches.js';
import { identityKey, planMarket, type MarketPlan } from './market-plan.js';
import { bulkWrite, findStored, insertOf, upsertOf, waitForMajority } from './stored-markets.js';

/** The records of one market in a batch, of which the last is written. */
interface MarketWrite extends MarketPlan {
  readonly entries: readonly ImportEntry[];
}

/** What became of the records of a batch. */
export class BatchTally {
  readonly counts = { inserted: 0, updated: 0, unchanged: 0 };
  readonly refused: { readonly entry: ImportEntry; readonly reason: string }[] = [];

  /** Counts a write for each market, as MongoDB tells; its earlier records that made a change count as updates. */
  count(markets: readonly MarketWrite[], inserted: number, updated: number): void {
    const records = markets.reduce((sum, { entries }) => sum + entries.length, 0);
    const earlier = markets.reduce((sum, { changes }) => sum + changes - 1, 0);
    this.counts.inserted += inserted;
    this.counts.updated += updated + earlier;
    this.counts.unchanged += records - inserted - updated - earlier;
  }
}

/** Brings batches of records into the collection: new markets in, changed ones changed, the others left alone. */
export class MarketWriter {
  /** @param dryRun whether to compare alone, and write nothing */
  constructor(
    private readonly markets: Collection,
    private readonly dryRun: boolean,
  ) {}

  /**
   * Writes a batch, each market whole and at once.
   * @param isLast whether it was compared before, with a primary that is gone now: that is done once
   * @throws when MongoDB can't be used; what is written by then stays, and writing it again changes nothing
   */
  async write(batch: readonly ImportEntry[], isLast = false): Promise<BatchTally> {
    const tally = new BatchTally();
    const missing: MarketWrite[] = [];
    const known: MarketWrite[] = [];
    const stored = await findStored(
      this.markets,
      batch.map(({ record }) => record),
    );
    const now = new Date();
    for (const [key, entries] of groupBy(batch, ({ record }) => identityKey(record))) {
      const before = stored.get(key);
      const records = entries.map(({ record }) => record);
      const plan = planMarket(records, before, now);
      if (plan) (before ? known : missing).push({ entries, ...plan });
      else tally.counts.unchanged += entries.length;
    }
    if (this.dryRun) {
      tally.count(missing, missing.length, 0);
      tally.count(known, 0, known.length);
      return tally;
    }
    // What was found may be lost with the primary: then the batch is compared with what the next one has.
    try {
      if (tally.counts.unchanged > 0) await waitForMajority(this.markets);
    } catch (error) {
      if (isLast || !isAway(error)) throw error;
      return this.write(batch, true);
    }
    // Somebody else may have inserted what is refused here.
    for (const { market } of await this.send(missing, insertOf, tally)) known.push(market);
    for (const { market, error } of await this.send(known, upsertOf, tally)) {
      const reason = `MongoDB refuses it: ${printable(error.errmsg ?? `code ${error.code}`)}`;
      tally.refused.push(...market.entries.map((entry) => ({ entry, reason })));
    }
    return tally;
  }

  /** Writes markets, and counts those that MongoDB takes. @returns those that it refuses */
  private async send(
    markets: readonly MarketWrite[],
    operationOf: (market: MarketPlan) => AnyBulkWriteOperation,
    tally: BatchTally,
  ) {
    if (markets.length === 0) return [];
    const result = await bulkWrite(this.markets, markets.map(operationOf));
    const errors = new Map(result.getWriteErrors().map((error) => [error.index, error]));
    const written = markets.filter((_market, index) => !errors.has(index));
    tally.count(written, result.insertedCount + result.upsertedCount, result.modifiedCount);
    return markets.flatMap((market, index) => {
      const error = errors.get(index);
      return error ? { market, error } : [];
    });
  }
}
