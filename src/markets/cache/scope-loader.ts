import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import type { Document, Timestamp } from 'mongodb';
import type { Model } from 'mongoose';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../../change-feed/change.js';
import { Database } from '../../database/database.js';
import { MARKET_PROJECTION } from '../market-view.js';
import { Market } from '../market.schema.js';
import { scopeKey, scopeKeysOf, type Scope } from '../scope.js';
import { cachedMarketOf, type CachedMarket } from './cached-market.js';
import { CachedScope } from './cached-scope.js';
import { orderedIdOf } from './id-order.js';
import { MarketChange } from './market-change.js';

/** A larger scope costs more to keep than it saves. */
export const MARKETS_MAX = 2_000;

/** Markets of all scopes that are loaded together. */
export const MARKETS_TOGETHER_MAX = 10_000;

/** Changes that a load waits out; if more arrive, it is given up. */
const COMMITS_DURING_LOAD_MAX = 10_000;

/** Why a scope can't be kept in memory: the last one may pass. */
export type Unfit = 'too large' | 'unordered' | 'outdated';

/** What happens while scopes are being read. */
interface Load {
  readonly commits: Commit[];
  /** Changes were missed while it ran. */
  outdated: boolean;
}

interface Snapshot {
  readonly asOf: Timestamp;
  /** Undefined where there are too many. */
  readonly documents: readonly Document[] | undefined;
}

/** Reads whole scopes from MongoDB, and brings them up to what happened meanwhile. */
@Injectable()
export class ScopeLoader implements ChangeListener {
  private readonly loads = new Set<Load>();

  constructor(
    @InjectModel(Market.name) private readonly markets: Model<Market>,
    private readonly database: Database,
    private readonly feed: ChangeFeed,
  ) {
    feed.listen(markets.collection.name, this);
  }

  committed(commit: Commit): void {
    for (const load of this.loads) load.commits.push(commit);
  }

  forgetAll(): void {
    for (const load of this.loads) load.outdated = true;
  }

  /**
   * Loads scopes, all of one state.
   * @param keep is handed each scope that is fit for memory at a moment at which it is current
   * @returns why the others are not
   * @throws Problem when MongoDB can't answer (in time)
   */
  async load(
    scopes: readonly Scope[],
    budgetMs: number,
    keep: (scope: CachedScope) => void,
  ): Promise<ReadonlyMap<string, Unfit>> {
    const load: Load = { commits: [], outdated: false };
    const unfit = new Map<string, Unfit>();
    this.loads.add(load);
    try {
      const snapshot = await this.read(scopes, budgetMs);
      for (const scope of scopes) {
        const made = makeScope(scope, snapshot, scopes.length === 1);
        const current = typeof made === 'string' ? made : catchUp(made, load);
        if (typeof current === 'string') unfit.set(scopeKey(scope), current);
        else keep(current);
      }
      return unfit;
    } finally {
      this.loads.delete(load);
    }
  }

  /** Reads from a snapshot that has everything the feed has told so far. */
  private async read(scopes: readonly Scope[], budgetMs: number): Promise<Snapshot> {
    const afterClusterTime = this.feed.position;
    const limit = Math.min(scopes.length * MARKETS_MAX, MARKETS_TOGETHER_MAX) + 1;
    const { name } = this.markets.collection;
    const cursor = await this.database.read(budgetMs, async (attempt) => {
      const reply = await attempt.command({
        find: name,
        filter: scopes.length === 1 ? scopes[0] : { $or: scopes },
        sort: { _id: 1 },
        projection: MARKET_PROJECTION,
        limit,
        batchSize: limit,
        readConcern: { level: 'snapshot', afterClusterTime },
      });
      attempt.killCursor(reply['cursor'].id, name);
      return reply['cursor'];
    });
    // There is no time to go by while there is no collection: nothing was in it then.
    const asOf: Timestamp = cursor.atClusterTime ?? afterClusterTime;
    const isWhole = String(cursor.id) === '0';
    const fits = isWhole && cursor.firstBatch.length < limit;
    return { asOf, documents: fits ? cursor.firstBatch : undefined };
  }
}

function makeScope(scope: Scope, snapshot: Snapshot, isOnlyOne: boolean): CachedScope | Unfit {
  const { asOf, documents } = snapshot;
  if (!documents) return 'too large';
  const key = scopeKey(scope);
  const own = isOnlyOne
    ? documents
    : documents.filter((document) => scopeKeysOf(document).includes(key));
  if (own.length > MARKETS_MAX) return 'too large';
  const markets: CachedMarket[] = [];
  for (const document of own) {
    const id = orderedIdOf(document['_id']);
    if (!id) return 'unordered';
    markets.push(cachedMarketOf(id, document, asOf));
  }
  return new CachedScope(scope, asOf, markets);
}

/** Applies what happened since the snapshot. */
function catchUp(scope: CachedScope, { commits, outdated }: Load): CachedScope | Unfit {
  if (outdated || commits.length > COMMITS_DURING_LOAD_MAX) return 'outdated';
  for (const { changes, clusterTime } of commits) {
    if (!clusterTime.greaterThan(scope.asOf)) continue;
    for (const change of changes.map((each) => new MarketChange(each, clusterTime))) {
      if (change.mayConcern(scope) && !change.applyTo(scope)) return 'outdated';
    }
  }
  return scope.length > MARKETS_MAX ? 'too large' : scope;
}
