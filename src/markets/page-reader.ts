import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { MongoServerError, type Document, type Timestamp } from 'mongodb';
import type { Model, PipelineStage } from 'mongoose';
import { TAKE_MAX } from '../http/input/page.js';
import { Problem } from '../http/problem.js';
import { READ_BUDGET_MS } from '../database/bounded-reads.js';
import { Database } from '../database/database.js';
import type { ReadAttempt } from '../database/read-attempt.js';
import { conditionsOf } from './market.filters.js';
import { MARKET_PROJECTION } from './market-view.js';
import { Market } from './market.schema.js';
import type { MarketsQuery } from './markets-query.dto.js';
import type { Scope } from './scope.js';

/** The markets of one page, as stored, and how many match in all: both of one state of the data. */
export interface StoredPage {
  readonly markets: readonly Document[];
  readonly itemCount: number;
}

interface Lookup {
  readonly match: PipelineStage.Match;
  readonly query: MarketsQuery;
}

interface WaitingLookup extends Lookup {
  readonly resolve: (page: StoredPage) => void;
  readonly reject: (error: unknown) => void;
}

/** Look-ups in one command. More would save little, and make each wait for the others. */
const TOGETHER_MAX = 8;

/** What was known to be written so long before a read must be in its snapshot. Milliseconds. */
const SNAPSHOT_BEHIND_MS = 150;

/** After a snapshot that was too old, none is asked for during this time. Milliseconds. */
const WITHOUT_SNAPSHOTS_MS = 200;

/** After a command of several that took too long, each look-up has one of its own for a while. */
const APART_FOR_MS = 1_000;

/** A total order that never changes: pages neither overlap nor skip. */
const IN_ORDER: PipelineStage.Sort = { $sort: { _id: 1 } };

/** QueryPlanKilled, SnapshotTooOld and SnapshotUnavailable. */
const SNAPSHOT_GONE = new Set([175, 239, 246]);

/**
 * Reads pages from MongoDB, each with its total from one snapshot, in one round trip. Look-ups that arrive in
 * one turn of the event loop share a command, since most of what a small one costs is the command itself.
 */
@Injectable()
export class PageReader {
  private waiting: WaitingLookup[] = [];
  private apartUntil = -Infinity;
  private withoutSnapshotsUntil = -Infinity;

  constructor(
    @InjectModel(Market.name) private readonly markets: Model<Market>,
    private readonly database: Database,
  ) {}

  /** @throws Problem when MongoDB can't answer (in time) */
  read(scope: Scope, query: MarketsQuery): Promise<StoredPage> {
    const match = { $match: { $and: [...conditionsOf(query), scope] } };
    if (!this.database.hasSnapshots) {
      return this.database.read(READ_BUDGET_MS.markets, (attempt) =>
        this.readInOnePass({ match, query }, attempt),
      );
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ match, query, resolve, reject });
      if (this.waiting.length === 1) setImmediate(() => this.askForWaiting());
    });
  }

  private askForWaiting(): void {
    const { waiting } = this;
    this.waiting = [];
    const together = performance.now() < this.apartUntil ? 1 : TOGETHER_MAX;
    for (let first = 0; first < waiting.length; first += together) {
      const lookups = waiting.slice(first, first + together);
      const { markets, pagesTogether } = READ_BUDGET_MS;
      void this.ask(lookups, lookups.length === 1 ? markets : pagesTogether);
    }
  }

  private async ask(lookups: readonly WaitingLookup[], budgetMs: number): Promise<void> {
    try {
      const pages = await this.database.read(budgetMs, async (attempt) => {
        const ofSnapshot = await this.readSnapshot(lookups, attempt);
        return (
          ofSnapshot ?? Promise.all(lookups.map((lookup) => this.readInOnePass(lookup, attempt)))
        );
      });
      lookups.forEach(({ resolve }, index) => resolve(pages[index] ?? NOTHING));
    } catch (error) {
      if (lookups.length === 1 || !isTooLate(error)) {
        for (const { reject } of lookups) reject(error);
        return;
      }
      // One that is slow must not take the others with it.
      this.apartUntil = performance.now() + APART_FOR_MS;
      const timeLeft = READ_BUDGET_MS.markets - budgetMs;
      for (const lookup of lookups) void this.ask([lookup], timeLeft);
    }
  }

  /**
   * A snapshot shows what a majority has, which may be the past: then the state of the server that is asked is
   * read. Secondaries may have writes that they don't know to be a majority's.
   */
  private async readSnapshot(
    lookups: readonly Lookup[],
    attempt: ReadAttempt,
  ): Promise<StoredPage[] | undefined> {
    const now = performance.now();
    if (!attempt.isOfPrimary || now < this.withoutSnapshotsUntil) return undefined;
    const due = this.database.readAfterTime.knownAt(now - SNAPSHOT_BEHIND_MS);
    try {
      const { cursor } = await attempt.command({
        ...this.pagesAndTotals(lookups),
        readConcern: { level: 'snapshot' },
      });
      if (!isBefore(cursor.atClusterTime, due)) {
        return pagesOf(await attempt.restOf(cursor), lookups.length);
      }
      attempt.killCursor(cursor.id, this.markets.collection.name);
      this.withoutSnapshotsUntil = now + WITHOUT_SNAPSHOTS_MS;
    } catch (error) {
      if (!isSnapshotGone(error)) throw error;
    }
    return undefined;
  }

  /** The indexes give the order and the count: only what is on the pages is fetched. */
  private pagesAndTotals(lookups: readonly Lookup[]): Document {
    const collection = this.markets.collection.name;
    return {
      aggregate: collection,
      pipeline: pagesAndTotals(lookups, collection),
      cursor: { batchSize: lookups.length * (TAKE_MAX + 1) },
    };
  }

  /** Without a snapshot, one pass over all that match sees page and total together. */
  private async readInOnePass({ match, query }: Lookup, attempt: ReadAttempt): Promise<StoredPage> {
    const total = [{ $count: 'itemCount' }];
    const rows = await attempt.rows({
      aggregate: this.markets.collection.name,
      pipeline: [
        match,
        IN_ORDER,
        { $facet: { markets: pageStages(query), total } },
        // Row by row, since a page may be larger than the one document that holds it all.
        { $project: { rows: { $concatArrays: ['$markets', '$total'] } } },
        { $unwind: '$rows' },
        { $replaceRoot: { newRoot: '$rows' } },
      ],
      cursor: { batchSize: TAKE_MAX + 1 },
    });
    return pagesOf(rows, 1)[0] ?? NOTHING;
  }
}

const NOTHING: StoredPage = { markets: [], itemCount: 0 };

/**
 * Of each look-up first the markets of its page, then a row with its total and its place among the look-ups;
 * nothing where nothing matches.
 */
function pagesAndTotals(lookups: readonly Lookup[], collection: string): PipelineStage[] {
  const [first = [], ...others] = lookups.flatMap(({ match, query }, place): PipelineStage[][] => [
    [match, IN_ORDER, ...pageStages(query)],
    [match, { $count: 'itemCount' }, { $set: { place: { $literal: place } } }],
  ]);
  return [
    ...first,
    ...others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } }) as PipelineStage),
  ];
}

function pagesOf(rows: readonly Document[], count: number): StoredPage[] {
  const pages = Array.from({ length: count }, () => NOTHING);
  let start = 0;
  rows.forEach((row, end) => {
    if ('_id' in row) return;
    pages[row['place'] ?? 0] = { markets: rows.slice(start, end), itemCount: row['itemCount'] };
    start = end + 1;
  });
  return pages;
}

function pageStages({ page, take }: MarketsQuery): PipelineStage.FacetPipelineStage[] {
  return [{ $skip: (page - 1) * take }, { $limit: take }, { $project: MARKET_PROJECTION }];
}

function isTooLate(error: unknown): boolean {
  return error instanceof Problem && error.code === 'database_timeout';
}

function isBefore(time: Timestamp | undefined, due: Timestamp | undefined): boolean {
  return time !== undefined && due !== undefined && time.lessThan(due);
}

/** For a moment after a collection or an index was made anew, there is no snapshot of it. */
function isSnapshotGone(error: unknown): boolean {
  return error instanceof MongoServerError && SNAPSHOT_GONE.has(Number(error.code));
}
