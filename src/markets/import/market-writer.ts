import { BSON, type Collection, type WriteError } from 'mongodb';
import { printable } from '../../common/command.js';
import { BatchTally, type ImportEntry, type MarketWrite } from './batch-tally.js';
import { identityKey, planMarket } from './market-plan.js';
import { bulkWrite, findStored } from './stored-markets.js';

const DOCUMENT_LIMIT_BYTES = 16 * 1024 * 1024;
/** JSON at most doubles when it becomes BSON, so shorter records need no measuring. */
const SURELY_FITS_BYTES = 4 * 1024 * 1024;
const DUPLICATE_KEY = 11_000;
const TOO_LARGE = 'makes a document above the 16 MiB of MongoDB';

/** Brings batches of records into the collection: new markets in, changed ones changed, the others left alone. */
export class MarketWriter {
  constructor(private readonly markets: Collection) {}

  /**
   * Writes a batch, each market whole and at once.
   * @throws when MongoDB can't be used; what is written by then stays, and writing it again changes nothing
   */
  async write(entries: readonly ImportEntry[], dryRun: boolean): Promise<BatchTally> {
    const tally = new BatchTally();
    const markets: MarketWrite[] = [];
    for (const market of await this.plan(entries)) {
      if (!market.write) tally.count(market, 'unchanged');
      else if (isTooLarge(market)) tally.refuse(market, TOO_LARGE);
      else if (dryRun) tally.count(market, market.isStored ? 'updated' : 'inserted');
      else markets.push(market);
    }
    const known = await this.insert(markets, tally);
    // MongoDB tells how many markets of a bulk write it changed, not which. So those with as many changes are written
    // together, and the counts are right whichever it changed.
    for (const changes of new Set(known.map((market) => market.changes))) {
      await this.change(
        known.filter((market) => market.changes === changes),
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
    const stored = await findStored(
      this.markets,
      entries.map(({ record }) => record),
    );
    const now = new Date();
    return [...groups].map(([key, group]) => {
      const records = group.map(({ record }) => record);
      const before = stored.get(key);
      return { entries: group, isStored: !!before, ...planMarket(records, before, now) };
    });
  }

  /**
   * Inserts the new ones.
   * @returns the others, and those that somebody else has made meanwhile
   */
  private async insert(
    markets: readonly MarketWrite[],
    tally: BatchTally,
  ): Promise<readonly MarketWrite[]> {
    const inserted = markets.filter(({ document }) => document);
    const inserts = inserted.flatMap(({ document }) =>
      document ? [{ insertOne: { document } }] : [],
    );
    if (inserts.length === 0) return markets;
    const { errors } = await bulkWrite(this.markets, inserts);
    const errorOf = new Map(errors.map((error) => [inserted[error.index], error]));
    return markets.filter((market) => {
      const error = errorOf.get(market);
      if (!market.document || error?.code === DUPLICATE_KEY) return true;
      if (error) tally.refuse(market, refusalOf(error));
      else tally.count(market, 'inserted');
      return false;
    });
  }

  private async change(markets: readonly MarketWrite[], tally: BatchTally): Promise<void> {
    let modified = await this.changeAsRead(markets);
    if (modified === markets.length) {
      for (const market of markets) tally.count(market, 'updated');
      return;
    }
    const writes = markets.flatMap(({ write }) => write ?? []);
    const { result, errors } = await bulkWrite(this.markets, writes);
    const errorAt = new Map(errors.map((error) => [error.index, error]));
    modified += result.modifiedCount;
    for (const [index, market] of markets.entries()) {
      const error = errorAt.get(index);
      if (error) tally.refuse(market, refusalOf(error));
      else if (index in result.upsertedIds) tally.count(market, 'inserted');
      else tally.count(market, modified-- > 0 ? 'updated' : 'unchanged');
    }
  }

  /** Changes those that nobody else has changed since they were read; resolves with their number. */
  private async changeAsRead(markets: readonly MarketWrite[]): Promise<number> {
    const writes = markets.flatMap(({ writeAsRead }) => writeAsRead ?? []);
    if (writes.length === 0) return 0;
    const { result } = await bulkWrite(this.markets, writes);
    return result.modifiedCount;
  }
}

function isTooLarge({ entries, write }: MarketWrite): boolean {
  if (!write || entries.every(({ bytes }) => bytes < SURELY_FITS_BYTES)) return false;
  return BSON.calculateObjectSize(write) >= DOCUMENT_LIMIT_BYTES;
}

function refusalOf({ errmsg, code }: WriteError): string {
  return `MongoDB refuses it: ${printable(errmsg ?? `code ${code}`)}`;
}
