import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Timestamp } from 'mongodb';
import type { Model } from 'mongoose';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import { Database } from '../../database/database.js';
import type { ReadAttempt } from '../../database/read-attempt.js';
import { MARKETS_MAX, MARKETS_TOGETHER_MAX } from '../cache/scope-loader.js';
import { meets } from '../market.filters.js';
import { MARKET_PROJECTION, marketJson } from '../market-view.js';
import { Market } from '../market.schema.js';
import { scopeKey, scopeKeysOf } from '../scope.js';
import { FeedCurrency } from './feed-currency.js';
import { resetGroup } from './group.js';
import type { WatchState } from './watch-state.js';
import { tooMuchData } from './watch-problems.js';
import type { Watch } from './watch.js';

/** Where a cursor begins that nothing can be told since. */
const NOWHERE = new Timestamp({ t: 0, i: 0 });

/** Reads all of a watch from MongoDB, where memory can't tell: all groups of one state. */
@Injectable()
export class ResetReader {
  constructor(
    @InjectModel(Market.name) private readonly markets: Model<Market>,
    private readonly database: Database,
    private readonly currency: FeedCurrency,
  ) {}

  /**
   * @param after the cluster time of what the caller has seen
   * @throws Problem when there is too much, or MongoDB can't answer (in time)
   */
  async read(watch: Watch, after: Timestamp | undefined): Promise<WatchState> {
    const askedAt = performance.now();
    const { position, documents } = await this.find(watch, after);
    let count = 0;
    const groups = watch.scopes.map((scope) => {
      const key = scopeKey(scope);
      const own = documents.filter((document) => scopeKeysOf(document).includes(key));
      if (own.length > MARKETS_MAX)
        throw tooMuchData(scope, `has more than ${MARKETS_MAX} markets`);
      count += own.length;
      if (count > MARKETS_TOGETHER_MAX) {
        throw tooMuchData(
          scope,
          `with it there are more than ${MARKETS_TOGETHER_MAX} markets in all`,
        );
      }
      const matching = own.filter((document) =>
        watch.conditions.every((condition) => meets(document, condition)),
      );
      return resetGroup(scope, matching.map(marketJson));
    });
    return { groups, position, ageMs: performance.now() - askedAt };
  }

  private find({ scopes, conditions, fitsMemory }: Watch, after: Timestamp | undefined) {
    return this.database.read(READ_BUDGET_MS.markets, async (attempt) => {
      const position = await this.newestWrite(attempt);
      const afterClusterTime = position && after?.greaterThan(position) ? after : position;
      const limit = MARKETS_TOGETHER_MAX + MARKETS_MAX;
      const documents = await attempt.rows({
        find: this.markets.collection.name,
        filter: { $and: [{ $or: scopes }, ...(fitsMemory ? [] : conditions)] },
        sort: { _id: 1 },
        projection: MARKET_PROJECTION,
        limit,
        batchSize: limit,
        ...(afterClusterTime && { readConcern: { level: 'snapshot', afterClusterTime } }),
      });
      return { position: position ?? NOWHERE, documents };
    });
  }

  /**
   * The newest write of the primary; undefined where there is none to be asked, on a standalone server, and while a
   * majority lags: a snapshot would wait for it, and what it has not may yet be lost, so that no cursor stands for it.
   */
  private async newestWrite(attempt: ReadAttempt): Promise<Timestamp | undefined> {
    if (!this.database.hasSnapshots || !attempt.isOfPrimary) return undefined;
    if (this.currency.majorityLags) return undefined;
    const { lastWrite } = await this.database.db.command({ hello: 1 });
    return lastWrite?.opTime?.ts;
  }
}
