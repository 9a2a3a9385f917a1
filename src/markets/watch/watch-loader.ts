import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import { overloaded } from '../../http/overload/overloaded.js';
import { Problem } from '../../http/problem.js';
import type { CachedScope } from '../cache/cached-scope.js';
import { ScopeLoader } from '../cache/scope-loader.js';
import { scopeKey } from '../scope.js';
import { demandFew, type Untold } from './watch-problems.js';
import type { WatchQuestion } from './watch-question.js';
import { WatchedScopes, type Watched } from './watched-scopes.js';

/** How often it is looked for scopes to load again, or to let go. Milliseconds. */
const LOOK_EVERY_MS = 250;

/** A scope that can't be loaded again is tried after twice as long each time, up to this. Milliseconds. */
const RETRY_MAX_MS = 4_000;

/** A scope that changes in a way that can't be followed while it is loaded is loaded again. */
const LOADS_MAX = 3;

/** Loads what is watched: what callers ask for, and again what could not be kept current. */
@Injectable()
export class WatchLoader implements OnApplicationShutdown {
  private readonly logger = new Logger(WatchLoader.name);
  private readonly timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  private readonly keep = (scope: CachedScope) => this.watched.keep(scope);

  constructor(
    private readonly loader: ScopeLoader,
    private readonly watched: WatchedScopes,
  ) {}

  /**
   * Has all scopes of a watch in memory, for a while.
   * @returns why they are not, if they are not
   * @throws Problem when there is too much to hold, or MongoDB can't answer
   */
  async load(question: WatchQuestion): Promise<Untold | undefined> {
    const { scopes, keys, fitsMemory } = question.watch;
    if (!fitsMemory) return 'unordered';
    for (let loads = 0; loads < LOADS_MAX; loads += 1) {
      this.watched.lease(scopes);
      const missing = scopes.filter((scope) => !this.watched.take(scopeKey(scope)));
      if (missing.length === 0) {
        demandFew(scopes, (key) => this.watched.get(key)?.length ?? 0);
        this.demandRoom(keys);
        return undefined;
      }
      const bounds = { budgetMs: question.readMs, inOneReply: false };
      const loaded = await this.loader.load(missing, bounds, this.keep);
      demandFew(missing, (key) => loaded.get(key)?.count ?? 0);
      if ([...loaded.values()].some(({ unfit }) => unfit === 'unordered')) return 'unordered';
    }
    return 'blind';
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private demandRoom(keys: readonly string[]): void {
    if (this.watched.makeRoom(new Set(keys))) return;
    this.watched.makeRoom();
    throw overloaded();
  }

  private look(): void {
    const now = performance.now();
    this.watched.expire(now);
    for (const missing of this.watched.missing) {
      if (missing.retryAt <= now) void this.loadAgain(missing);
    }
  }

  private async loadAgain(watched: Watched): Promise<void> {
    watched.retryAt = Infinity;
    const bounds = { budgetMs: READ_BUDGET_MS.markets, inOneReply: false };
    try {
      await this.loader.load([watched.scope], bounds, this.keep);
    } catch (error) {
      if (!(error instanceof Problem))
        this.logger.error({ err: error }, 'A watched scope could not be loaded');
    }
    watched.retryMs = watched.live
      ? 0
      : Math.min(RETRY_MAX_MS, 2 * watched.retryMs + LOOK_EVERY_MS);
    watched.retryAt = performance.now() + watched.retryMs;
  }
}
