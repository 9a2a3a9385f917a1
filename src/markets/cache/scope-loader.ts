import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import type { Document, Timestamp } from 'mongodb';
import type { Model } from 'mongoose';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../../change-feed/change.js';
import { Database } from '../../database/database.js';
import { MARKET_PROJECTION } from '../market-view.js';
import { Market } from '../market.schema.js';
import { byScopeKey, scopeKey, type Scope } from '../scope.js';
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

/** Why a scope is not kept in memory: the last one may pass. */
export type Unfit = 'too large' | 'unordered' | 'outdated';

export interface LoadBounds {
  readonly budgetMs: number;
  /** Only what fits into one reply of MongoDB, of 16 MB. */
  readonly inOneReply: boolean;
}

export interface Loaded {
  /** Markets that were found: there may be more where it is too large. */
  readonly count: number;
  readonly unfit: Unfit | undefined;
}

/** What happens while scopes are being read. */
interface Load {
  readonly commits: Commit[];
  /** Changes were missed while it ran. */
  outdated: boolean;
}

interface Snapshot {
  readonly asOf: Timestamp;
  readonly documents: ReadonlyMap<string, readonly Document[]>;
  readonly isWhole: boolean;
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
   * @returns what became of each
   * @throws Problem when MongoDB can't answer (in time)
   */
  async load(
    scopes: readonly Scope[],
    bounds: LoadBounds,
    keep: (scope: CachedScope) => void,
  ): Promise<ReadonlyMap<string, Loaded>> {
    const load: Load = { commits: [], outdated: false };
    const loaded = new Map<string, Loaded>();
    this.loads.add(load);
    try {
      const snapshot = await this.read(scopes, bounds);
      for (const scope of scopes) {
        const made = makeScope(scope, snapshot);
        const current = typeof made === 'string' ? made : catchUp(made, load);
        const key = scopeKey(scope);
        const count = snapshot.documents.get(key)?.length ?? 0;
        const unfit = typeof current === 'string' ? current : undefined;
        if (typeof current !== 'string') keep(current);
        loaded.set(key, { count, unfit });
      }
      return loaded;
    } finally {
      this.loads.delete(load);
    }
  }

  /** Reads from a snapshot that has everything the feed has told so far. */
  private read(scopes: readonly Scope[], { budgetMs, inOneReply }: LoadBounds): Promise<Snapshot> {
    const afterClusterTime = this.feed.position;
    const limit = Math.min(scopes.length, MARKETS_TOGETHER_MAX / MARKETS_MAX + 1) * MARKETS_MAX + 1;
    const { name } = this.markets.collection;
    return this.database.read(budgetMs, async (attempt) => {
      const { cursor } = await attempt.command({
        find: name,
        filter: scopes.length === 1 ? scopes[0] : { $or: scopes },
        sort: { _id: 1 },
        projection: MARKET_PROJECTION,
        limit,
        batchSize: limit,
        readConcern: { level: 'snapshot', afterClusterTime },
      });
      if (inOneReply) attempt.killCursor(cursor.id, name);
      const isCut = inOneReply && String(cursor.id) !== '0';
      const documents = inOneReply ? cursor.firstBatch : await attempt.restOf(cursor);
      return {
        // There is no time to go by while there is no collection: nothing was in it then.
        asOf: cursor.atClusterTime ?? afterClusterTime,
        documents: byScopeKey<Document>(documents),
        isWhole: !isCut && documents.length < limit,
      };
    });
  }
}

function makeScope(scope: Scope, { asOf, documents, isWhole }: Snapshot): CachedScope | Unfit {
  const own = documents.get(scopeKey(scope)) ?? [];
  if (!isWhole || own.length > MARKETS_MAX) return 'too large';
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
