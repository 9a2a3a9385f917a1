import { BSON, type Collection, type WriteError } from 'mongodb';
import { printable } from '../../common/text.js';
import { BatchTally, type ImportEntry, type MarketEntries } from './batch-tally.js';
import { groupBy } from './group-by.js';
import { identityKey, planMarket, type MarketPlan } from './market-plan.js';
import { DOCUMENT_BYTES_MAX } from './raw-record.js';
import { bulkWrite, findStored, insertIfMissing, updateOf } from './stored-markets.js';

/** BSON takes at most twice the bytes of JSON, so that a shorter record fits into one command twice. */
const LARGE_BYTES = 2 * 1024 * 1024;
const DUPLICATE_KEY = 11_000;
const TOO_LARGE = 'makes a document above the 16 MiB of MongoDB';

type MarketWrite = MarketEntries & MarketPlan;

/** Brings batches of records into the collection: new markets in, changed ones changed, the others left alone. */
export class MarketWriter {
  /** @param dryRun whether to compare alone, and write nothing */
  constructor(
    private readonly markets: Collection,
    private readonly dryRun: boolean,
  ) {}

  /**
   * Writes a batch, each market whole and at once.
   * @throws when MongoDB can't be used; what is written by then stays, and writing it again changes nothing
   */
  async write(entries: readonly ImportEntry[]): Promise<BatchTally> {
    const tally = new BatchTally();
    const missing: MarketWrite[] = [];
    const known: MarketWrite[] = [];
    const stored = await findStored(
      this.markets,
      entries.map(({ record }) => record),
    );
    const now = new Date();
    for (const [key, group] of groupBy(entries, ({ record }) => identityKey(record))) {
      const before = stored.get(key);
      const records = group.map(({ record }) => record);
      const plan = planMarket(records, before, now);
      const market = plan && { entries: group, ...plan };
      if (!market) tally.count({ entries: group, changes: 0 }, 'unchanged');
      else if (isTooLarge(market)) tally.refuse(market, TOO_LARGE);
      else if (this.dryRun) tally.count(market, before ? 'updated' : 'inserted');
      else (before ? known : missing).push(market);
    }
    known.push(...(await this.insert(missing, tally)));
    // MongoDB tells how many markets of a bulk write it changed, not which. So markets with the same number of changes
    // are written together, and the counts are right whichever it changed.
    for (const alike of groupBy(known, ({ changes }) => String(changes)).values()) {
      await this.change(alike, tally);
    }
    return tally;
  }

  /** @returns the markets that somebody else has inserted meanwhile */
  private async insert(
    markets: readonly MarketWrite[],
    tally: BatchTally,
  ): Promise<readonly MarketWrite[]> {
    if (markets.length === 0) return [];
    const inserts = markets.map(({ document }) => ({ insertOne: { document } }));
    const { errors } = await bulkWrite(this.markets, inserts);
    return markets.filter((market, index) => {
      const error = errors.get(index);
      if (error?.code === DUPLICATE_KEY) return true;
      if (error) tally.refuse(market, refusalOf(error));
      else tally.count(market, 'inserted');
      return false;
    });
  }

  private async change(markets: readonly MarketWrite[], tally: BatchTally): Promise<void> {
    const updates = markets.map((market) => updateOf(market.fields, isLarge(market)));
    const { result, errors } = await bulkWrite(this.markets, updates);
    let updated = result.modifiedCount;
    // Somebody else has written the others meanwhile, or removed them.
    const isDone = updated + errors.size === markets.length;
    const inserts = markets.map(({ document }) => insertIfMissing(document));
    const again = isDone ? undefined : await bulkWrite(this.markets, inserts);
    for (const [index, market] of markets.entries()) {
      const error = errors.get(index) ?? again?.errors.get(index);
      if (error) tally.refuse(market, refusalOf(error));
      else if (again && index in again.result.upsertedIds) tally.count(market, 'inserted');
      else tally.count(market, updated-- > 0 ? 'updated' : 'unchanged');
    }
  }
}

function isLarge({ entries }: MarketEntries): boolean {
  return entries.some(({ bytes }) => bytes >= LARGE_BYTES);
}

function isTooLarge(market: MarketWrite): boolean {
  if (!isLarge(market)) return false;
  return BSON.calculateObjectSize(insertIfMissing(market.document)) >= DOCUMENT_BYTES_MAX;
}

function refusalOf({ errmsg, code }: WriteError): string {
  return `MongoDB refuses it: ${printable(errmsg ?? `code ${code}`)}`;
}
