import { BSON, type Document, type Timestamp } from 'mongodb';
import type { PipelineStage } from 'mongoose';
import { MARKETS } from '../common/collections.js';
import type { Database } from '../database/database.js';
import type { ReadAttempt } from '../database/read-attempt.js';
import { isTransient } from '../database/mongo-errors.js';
import { TAKE_MAX } from '../http/input/page.js';
import { MARKET_PROJECTION } from './market-view.js';
import type { MarketsQuery } from './markets-query.dto.js';

export interface Lookup {
  readonly match: PipelineStage.Match;
  readonly query: MarketsQuery;
}

/** The markets of one page, as stored, and how many match in all: both of one state of the data. */
export interface StoredPage {
  readonly markets: readonly Document[];
  readonly itemCount: number;
}

export const NO_MARKETS: StoredPage = { markets: [], itemCount: 0 };

/** A snapshot must have what was known to be written so long before the read. Milliseconds. */
const SNAPSHOT_BEHIND_MS = 150;

/** After a snapshot that was too old, none is asked for during this time. Milliseconds. */
const WITHOUT_SNAPSHOTS_MS = 200;

/** A full page and its total. With one more in a batch, MongoDB sees that there is no more, and closes its cursor. */
const ROWS_MAX = TAKE_MAX + 1;

/** A total order that never changes, so that pages neither overlap nor skip. */
const IN_ORDER: PipelineStage.Sort = { $sort: { _id: 1 } };

const SHOWN_FIELDS: PipelineStage.Project = { $project: MARKET_PROJECTION };

/** Pages with their totals, as MongoDB finds them: of one snapshot where it has one, else of the newest state. */
export class StoredPages {
  private withoutSnapshotsUntil = -Infinity;
  /** Whether stored markets have fields that no answer shows: to leave them out costs a fifth of a small look-up. */
  private mustProject = false;

  constructor(private readonly database: Database) {}

  async read(lookups: readonly Lookup[], attempt: ReadAttempt): Promise<StoredPage[]> {
    const ofSnapshot = await this.readSnapshot(lookups, attempt);
    if (ofSnapshot) return ofSnapshot;
    const pages: StoredPage[] = [];
    // One after the other, since a transaction takes no two commands at once.
    for (const lookup of lookups) pages.push(await this.readInOnePass(lookup, attempt));
    return pages;
  }

  /**
   * A snapshot shows what a majority has, which may be too old: the server's own state is read then. A secondary's
   * snapshot is not read either: it leaves out writes that the secondary has, but does not yet know to be a majority's.
   */
  private async readSnapshot(
    lookups: readonly Lookup[],
    attempt: ReadAttempt,
  ): Promise<StoredPage[] | undefined> {
    const now = performance.now();
    const { hasSnapshots, isSharded, readAfterTime } = this.database.topology;
    if (!hasSnapshots || !attempt.isOfPrimary || now < this.withoutSnapshotsUntil) return undefined;
    const due = readAfterTime.knownAt(now - SNAPSHOT_BEHIND_MS);
    try {
      const after = isSharded
        ? { afterClusterTime: await this.timeOfShards(lookups, attempt) }
        : {};
      const { cursor } = await attempt.command({
        aggregate: MARKETS,
        pipeline: this.pagesAndTotals(lookups),
        cursor: { batchSize: lookups.length * ROWS_MAX + 1 },
        readConcern: { level: 'snapshot', ...after },
      });
      if (due && cursor.atClusterTime?.lessThan(due)) {
        attempt.killCursor(cursor);
        this.withoutSnapshotsUntil = now + WITHOUT_SNAPSHOTS_MS;
        return undefined;
      }
      const pages = pagesOf(await attempt.restOf(cursor), lookups.length);
      this.mustProject ||= pages.some(({ markets }) => markets.some(hasOtherFields));
      return pages;
    } catch (error) {
      // What the driver can't read is left out as other fields are.
      if (error instanceof BSON.BSONError) this.mustProject = true;
      else if (!isTransient(error)) throw error;
      return undefined;
    }
  }

  /** A mongos reads a snapshot of the newest time it has heard of: by a short read it hears the shards that matter. */
  private async timeOfShards(lookups: readonly Lookup[], attempt: ReadAttempt): Promise<Timestamp> {
    const filter = { $or: lookups.map(({ match }) => match.$match) };
    const find = { find: MARKETS, filter, projection: { _id: 1 }, limit: 1, singleBatch: true };
    const reply = await attempt.command(find);
    return reply['$clusterTime'].clusterTime;
  }

  /** The page and the total of each look-up. Indexes give order and count, so that only pages are fetched. */
  private pagesAndTotals(lookups: readonly Lookup[]): PipelineStage[] {
    const [first = [], ...others] = lookups.flatMap(({ match, query }, index) => [
      [match, IN_ORDER, ...pageStages(query), ...(this.mustProject ? [SHOWN_FIELDS] : [])],
      [match, totalOf(index)],
    ]);
    const unions = others.map((pipeline) => ({ $unionWith: { coll: MARKETS, pipeline } }));
    return [...first, ...unions] as PipelineStage[];
  }

  /** A pass over all that match sees page and total together; the ids tell one pass from another. */
  private async readInOnePass({ match, query }: Lookup, attempt: ReadAttempt): Promise<StoredPage> {
    const total = { $group: { ...totalOf(0).$group, ids: { $push: '$_id' } } };
    const facets = { markets: [...pageStages(query), SHOWN_FIELDS], total: [total] };
    const command = {
      aggregate: MARKETS,
      pipeline: [
        match,
        IN_ORDER,
        { $facet: facets },
        // Row by row, since a page may be larger than a document may be.
        { $project: { rows: { $concatArrays: ['$markets', '$total'] } } },
        { $unwind: '$rows' },
        { $replaceRoot: { newRoot: '$rows' } },
      ],
      cursor: { batchSize: ROWS_MAX + 1 },
    };
    // The total is the last row.
    const rows = await attempt.rowsOfOneState(command, (read) => read.at(-1)?.['itemCount'] ?? 0);
    return pagesOf(rows, 1)[0] ?? NO_MARKETS;
  }
}

/** The total of a look-up. No stored document has a list for its `_id`: that tells it from a market. */
function totalOf(lookup: number): PipelineStage.Group {
  return { $group: { _id: [lookup], itemCount: { $sum: 1 } } };
}

/** The rows are the markets of each page, followed by its total; there is none of either where nothing matches. */
function pagesOf(rows: readonly Document[], count: number): StoredPage[] {
  const pages = Array.from({ length: count }, () => NO_MARKETS);
  let start = 0;
  rows.forEach(({ _id: id, itemCount }, end) => {
    if (!Array.isArray(id)) return;
    pages[id[0]] = { markets: rows.slice(start, end), itemCount };
    start = end + 1;
  });
  return pages;
}

function pageStages({ page, take }: MarketsQuery): (PipelineStage.Skip | PipelineStage.Limit)[] {
  const skip = page > 1 ? [{ $skip: (page - 1) * take }] : [];
  return [...skip, { $limit: take }];
}

function hasOtherFields(market: Document): boolean {
  return Object.keys(market).some((name) => !(name in MARKET_PROJECTION));
}
