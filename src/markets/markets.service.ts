import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { MongoServerError } from 'mongodb';
import type { Model, PipelineStage } from 'mongoose';
import {
  Database,
  DRIVER_OPTIONS,
  READ_BUDGET_MS,
  type ReadOptions,
} from '../database/database.js';
import { TAKE_MAX } from '../common/page.js';
import { answerOf, type Answer } from './answer.js';
import { Books } from './books.js';
import { conditionsOf, type Condition } from './market.filters.js';
import { marketJson, MARKET_PROJECTION } from './market-view.js';
import { Market } from './market.schema.js';
import type { MarketsQuery } from './markets-query.dto.js';
import type { Scope } from './scope.js';

export interface ServedAnswer {
  readonly answer: Answer;
  readonly source: 'memory' | 'database';
}

type StoredMarket = Record<string, unknown>;

/** A total order that never changes: pages neither overlap nor skip. */
const IN_ORDER: PipelineStage.Sort = { $sort: { _id: 1 } };

/** QueryPlanKilled, SnapshotTooOld and SnapshotUnavailable. */
const SNAPSHOT_GONE = new Set([175, 239, 246]);

@Injectable()
export class MarketsService {
  constructor(
    @InjectModel(Market.name) private readonly markets: Model<Market>,
    private readonly database: Database,
    private readonly books: Books,
  ) {}

  /**
   * One page of the markets under a scope, and how many there are in all: both of one state of the data.
   * @throws Problem when MongoDB must be asked and can't answer (in time)
   */
  async page(scope: Scope, query: MarketsQuery): Promise<ServedAnswer> {
    const remembered =
      this.books.recall(scope, query) ?? (await this.books.recallAfterLoad(scope, query));
    if (remembered) return { answer: remembered, source: 'memory' };
    return { answer: await this.read(scope, query), source: 'database' };
  }

  private async read(scope: Scope, query: MarketsQuery): Promise<Answer> {
    const match = { $match: { $and: [...conditionsOf(query), scope as Condition] } };
    const { markets, itemCount } = await this.database.read(READ_BUDGET_MS.markets, (options) =>
      this.database.hasSnapshots
        ? this.readSnapshot(match, query, options).catch((error: unknown) => {
            if (!isSnapshotGone(error)) throw error;
            return this.readTogether(match, query, options);
          })
        : this.readTogether(match, query, options),
    );
    return answerOf(query, markets.map(marketJson), itemCount);
  }

  /**
   * Page and total from one snapshot, in one round trip. The indexes give the order and the count: only
   * what is on the page is fetched.
   */
  private async readSnapshot(
    match: PipelineStage.Match,
    query: MarketsQuery,
    options: ReadOptions,
  ) {
    const { maxTimeMS, ...rest } = options;
    const collection = this.markets.collection.name;
    const count = { coll: collection, pipeline: [match, { $count: 'itemCount' as const }] };
    const pipeline = [match, IN_ORDER, ...pageStages(query), { $unionWith: count }];
    const readConcern = { level: 'snapshot' as const };
    // A command does not take them from its client.
    const { readPreference, enableUtf8Validation } = DRIVER_OPTIONS;
    // The bare command: a cursor object for one batch costs a quarter of the read.
    const { cursor } = await this.database.db.command(
      {
        aggregate: collection,
        pipeline,
        cursor: { batchSize: TAKE_MAX + 1 },
        readConcern,
        maxTimeMS,
      },
      { ...rest, readPreference, enableUtf8Validation },
    );
    const isWhole = String(cursor.id) === '0';
    // Only documents so large that a page exceeds the 16 MB of one reply come in several.
    const rows: StoredMarket[] = isWhole
      ? cursor.firstBatch
      : await this.markets.aggregate<StoredMarket>(pipeline, { ...options, readConcern }).exec();
    const total = rows.at(-1);
    const counted = total !== undefined && !('_id' in total);
    return {
      markets: counted ? rows.slice(0, -1) : rows,
      itemCount: counted ? Number(total['itemCount']) : 0,
    };
  }

  /** Without snapshots, one pass over all that match sees page and total together. */
  private async readTogether(
    match: PipelineStage.Match,
    query: MarketsQuery,
    options: ReadOptions,
  ) {
    const [result] = await this.markets
      .aggregate<{ markets: StoredMarket[]; total: { itemCount: number }[] }>(
        [
          match,
          IN_ORDER,
          { $facet: { markets: pageStages(query), total: [{ $count: 'itemCount' }] } },
        ],
        options,
      )
      .exec();
    return { markets: result?.markets ?? [], itemCount: result?.total[0]?.itemCount ?? 0 };
  }
}

/** For a moment after a collection or an index was made anew, there is no snapshot of it. */
function isSnapshotGone(error: unknown): boolean {
  return error instanceof MongoServerError && SNAPSHOT_GONE.has(Number(error.code));
}

function pageStages({ page, take }: MarketsQuery): PipelineStage.FacetPipelineStage[] {
  return [{ $skip: (page - 1) * take }, { $limit: take }, { $project: MARKET_PROJECTION }];
}
