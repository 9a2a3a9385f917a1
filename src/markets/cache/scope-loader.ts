import { Injectable } from '@nestjs/common';
import type { Document } from 'mongodb';
import { setImmediate } from 'node:timers/promises';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../../change-feed/change.js';
import { MARKETS } from '../../common/collections.js';
import { groupBy } from '../../common/group-by.js';
import { Database } from '../../database/database.js';
import { isOpen } from '../../database/raw-cursor.js';
import { scopesOf, type Scope } from '../scope.js';
import { cachedMarketOf } from './cached-market.js';
import { CachedScope } from './cached-scope.js';
import { findScopes } from './find-scopes.js';
import { makeScope, type Unfit } from './make-scope.js';

interface LoadBounds {
  readonly budgetMs: number;
  /** A scope that does not fit into one reply of MongoDB, of 16 MB, is too large. */
  readonly inOneReply: boolean;
}

export interface Loaded {
  /** How many markets were found. Of a scope that is too large there may be more. */
  readonly count: number;
  readonly unfit: Unfit | undefined;
}

/** Reads whole scopes from MongoDB, and applies the changes that were told meanwhile. */
@Injectable()
export class ScopeLoader implements ChangeListener {
  /** For each load that can still be brought up to date, what was told since it began. */
  private readonly loads = new Set<Commit[]>();

  constructor(
    private readonly database: Database,
    private readonly feed: ChangeFeed,
  ) {
    feed.listen(MARKETS, this);
  }

  committed(commit: Commit): void {
    for (const commits of this.loads) commits.push(commit);
  }

  forgetAll(): void {
    this.loads.clear();
  }

  /**
   * Loads scopes, all of one state.
   * @param keep is called for each scope that fits memory, at once: after an `await` it might lack a change
   * @returns what became of each scope
   * @throws Problem when MongoDB can't answer (in time)
   */
  async load(
    scopes: readonly Scope[],
    bounds: LoadBounds,
    keep: (scope: CachedScope) => void,
  ): Promise<ReadonlyMap<Scope, Loaded>> {
    const commits: Commit[] = [];
    const loaded = new Map<Scope, Loaded>();
    this.loads.add(commits);
    try {
      const { asOf, missingAt, markets, isWhole } = await this.read(scopes, bounds);
      // Where no collection was found, it may have been dropped after `asOf`: at `missingAt` the feed has told so.
      const isKnown = !missingAt || (await this.feed.waitFor(missingAt));
      for (const scope of scopes) {
        // Other requests are answered between two scopes, each of which may be large.
        if (loaded.size > 0) await setImmediate();
        const meanwhile = isKnown && this.loads.has(commits) ? commits : undefined;
        const own = (markets.get(scope) ?? []).map(({ market }) => market);
        const made = isWhole ? makeScope(scope, own, asOf, meanwhile) : 'too large';
        const isFit = made instanceof CachedScope;
        if (isFit) keep(made);
        loaded.set(scope, { count: own.length, unfit: isFit ? undefined : made });
      }
      return loaded;
    } finally {
      this.loads.delete(commits);
    }
  }

  /** Reads from a snapshot that has everything the feed has told so far. */
  private read(scopes: readonly Scope[], { budgetMs, inOneReply }: LoadBounds) {
    const afterClusterTime = this.feed.position;
    const readConcern = { level: 'snapshot', afterClusterTime };
    const command = { ...findScopes(scopes), readConcern };
    if (inOneReply) command.batchSize = command.limit;
    return this.database.read(budgetMs, async (attempt) => {
      const { cursor, operationTime } = await attempt.command(command);
      if (inOneReply) attempt.killCursor(cursor);
      const isCut = inOneReply && isOpen(cursor);
      const asOf = cursor.atClusterTime ?? afterClusterTime;
      const each = (document: Document) => {
        const market = cachedMarketOf(document, asOf);
        return scopesOf(document).map((scope) => ({ scope, market }));
      };
      const found: ReturnType<typeof each>[] = inOneReply
        ? cursor.firstBatch.map(each)
        : await attempt.restOf(cursor, each);
      return {
        asOf,
        // Without a collection there is no time of the snapshot, and nothing to be found.
        missingAt: cursor.atClusterTime ? undefined : operationTime,
        markets: groupBy(found.flat(), ({ scope }) => scope),
        isWhole: !isCut && found.length < command.limit,
      };
    });
  }
}
