import { BSON, type Collection, type WriteError } from 'mongodb';
import { printable } from '../../common/text.js';
import { BatchTally, type ImportEntry, type MarketEntries } from './batch-tally.js';
import { groupBy } from './group-by.js';
import { identityKey, planMarket, type MarketPlan } from './market-plan.js';
import type { Fields } from './market-record.js';
import { bulkWrite, findStored, insertOf, updateOf } from './stored-markets.js';

const DOCUMENT_LIMIT_BYTES = 16 * 1024 * 1024;
/** BSON takes at most twice the bytes of JSON, so that a shorter record fits into one command twice. */
const LARGE_BYTES = 2 * 1024 * 1024;
const DUPLICATE_KEY = 11_000;
const TOO_LARGE = 'makes a document above the 16 MiB of MongoDB';

interface MarketWrite extends MarketEntries, MarketPlan {
  /** As it is stored; undefined when it is not. */
  readonly before: Fields | undefined;
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
   * @throws when MongoDB can't be used; what is written by then stays, and writing it again changes nothing
   */
  async write(entries: readonly ImportEntry[]): Promise<BatchTally> {
    const tally = new BatchTally();
    const again = await this.attempt(entries, tally, false);
    if (again.length > 0) await this.attempt(again, tally, true);
    return tally;
  }

  /** @returns entries to try again, since somebody else has written their market after it was read; once only */
  private async attempt(
    entries: readonly ImportEntry[],
    tally: BatchTally,
    isSecond: boolean,
  ): Promise<readonly ImportEntry[]> {
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
      const market = plan && { entries: group, before, ...plan };
      if (!market) tally.count({ entries: group, changes: 0 }, 'unchanged');
      else if (isTooLarge(market)) tally.refuse(market, TOO_LARGE);
      else if (this.dryRun) tally.count(market, before ? 'updated' : 'inserted');
      else (before ? known : missing).push(market);
    }
    // Inserts come first: the driver tells which updates have inserted only if these follow one another.
    const markets = [...missing, ...known];
    if (markets.length === 0) return [];
    const { result, errors } = await bulkWrite(this.markets, [
      ...missing.map(insertOf),
      ...known.map((market) =>
        updateOf(market.before?.['_id'], market, isSecond || isLarge(market)),
      ),
    ]);
    const again: ImportEntry[] = [];
    for (const [index, market] of markets.entries()) {
      const error = errors.get(index);
      const isNew = index < missing.length || index in result.upsertedIds;
      if (error?.code === DUPLICATE_KEY && !isSecond) again.push(...market.entries);
      else if (error) tally.refuse(market, refusalOf(error));
      else tally.count(market, isNew ? 'inserted' : 'updated');
    }
    return again;
  }
}

function isLarge({ entries }: MarketEntries): boolean {
  return entries.some(({ bytes }) => bytes >= LARGE_BYTES);
}

function isTooLarge(market: MarketWrite): boolean {
  if (!isLarge(market)) return false;
  const longest = updateOf(market.before?.['_id'], market, true);
  return BSON.calculateObjectSize(longest) >= DOCUMENT_LIMIT_BYTES;
}

function refusalOf({ errmsg, code }: WriteError): string {
  return `MongoDB refuses it: ${printable(errmsg ?? `code ${code}`)}`;
}
