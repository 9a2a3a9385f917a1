import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ChangeFeed } from '../../change-feed/change-feed.js';
import { Config } from '../../config.js';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import { Problem } from '../../http/problem.js';
import type { PageAnswer } from '../page-answer.js';
import type { MarketsQuery } from '../markets-query.dto.js';
import type { Scope } from '../scope.js';
import type { CachedScope } from './cached-scope.js';
import { LiveScopes, type ScopeOwner } from './live-scopes.js';
import { LoadCandidates } from './load-candidates.js';
import { SCOPE_MARKETS_MAX } from './make-scope.js';
import { ScopeLoader } from './scope-loader.js';

const BOUNDS = { budgetMs: READ_BUDGET_MS.scope, inOneReply: true };

/** So many scopes are loaded at a time, since each may be large: look-ups of others ask MongoDB meanwhile. */
const LOADS_MAX = 4;

/** After changes a scope is weighed again only if it has grown by this share; by so much the cache may be too large. */
const GROWN_SHARE = 1 / 8;

/** Answers look-ups from memory while the feed is known to be complete, and keeps the popular scopes there. */
@Injectable()
export class MarketCache implements ScopeOwner {
  private readonly logger = new Logger(MarketCache.name);
  /** The bytes that each scope had when it was weighed. */
  private readonly kept = new LRUCache<Scope, number>({
    // 0 would mean that there is no bound.
    maxSize: Math.max(1, this.config.cacheMaxMb * 1024 * 1024),
    sizeCalculation: (bytes) => bytes,
    disposeAfter: (_bytes, key) => this.live.release(key),
  });
  private readonly loads = new Map<Scope, Promise<void>>();
  private readonly candidates = new LoadCandidates(this.config.cacheMaxMb);

  constructor(
    private readonly live: LiveScopes,
    private readonly loader: ScopeLoader,
    private readonly feed: ChangeFeed,
    private readonly config: Config,
  ) {
    live.addOwner(this);
  }

  /** Bytes that the scopes take, about. */
  get bytes(): number {
    return this.kept.calculatedSize;
  }

  get count(): number {
    return this.kept.size;
  }

  /** The answer from memory, if the scope is there and known to be current. */
  recall(scope: Scope, query: MarketsQuery): PageAnswer | undefined {
    if (!this.feed.isCurrent) return undefined;
    const live = this.live.get(scope);
    const answer = live?.answer(query);
    const weighedBytes = this.kept.get(scope);
    // The scope has grown by this answer, and by what was compressed since.
    if (live && weighedBytes && weighedBytes !== live.bytes) this.weigh(live);
    return answer;
  }

  /** The answer from a scope that is loaded for it, if it is popular enough and fit for memory. */
  async recallAfterLoad(scope: Scope, query: MarketsQuery): Promise<PageAnswer | undefined> {
    if (this.config.cacheMaxMb === 0 || !this.feed.isCurrent) return undefined;
    if (!this.candidates.ask(scope)) return undefined;
    if (!this.loads.has(scope) && this.loads.size >= LOADS_MAX) return undefined;
    const load = this.loads.get(scope) ?? this.load(scope);
    this.loads.set(scope, load);
    await load;
    return this.recall(scope, query);
  }

  owns(scope: CachedScope): boolean {
    return this.kept.has(scope.key);
  }

  changed(scope: CachedScope): void {
    const weighedBytes = this.kept.peek(scope.key) ?? 0;
    const isLost = !this.live.get(scope.key);
    if (isLost || scope.length > SCOPE_MARKETS_MAX) this.kept.delete(scope.key);
    else if (scope.bytes > weighedBytes * (1 + GROWN_SHARE)) this.weigh(scope);
  }

  /** Tells the LRU the size of a scope, which drops it if it is larger than the whole cache, or others to make room. */
  private weigh(scope: CachedScope): void {
    this.kept.set(scope.key, scope.bytes);
    if (this.owns(scope)) return;
    this.candidates.leaveToMongodb(scope.key);
    this.live.release(scope.key);
  }

  private async load(scope: Scope): Promise<void> {
    try {
      const loaded = await this.loader.load([scope], BOUNDS, (made) =>
        this.weigh(this.live.add(made)),
      );
      const unfit = loaded.get(scope)?.unfit;
      if (unfit && unfit !== 'outdated') this.candidates.leaveToMongodb(scope);
    } catch (error) {
      // The page is read from MongoDB instead, which tells its own problem.
      if (!(error instanceof Problem))
        this.logger.error({ err: error }, 'A scope could not be loaded');
    } finally {
      this.loads.delete(scope);
    }
  }
}
