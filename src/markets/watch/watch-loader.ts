import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { READ_BUDGET_MS } from '../../database/bounded-reads.js';
import { Problem } from '../../http/problem.js';
import { ScopeLoader, type Loaded } from '../cache/scope-loader.js';
import type { Scope } from '../scope.js';
import { tooMuchData } from './watch-problems.js';
import type { WatchedScope } from './watched-scope.js';
import { WatchedScopes } from './watched-scopes.js';

const BOUNDS = { budgetMs: READ_BUDGET_MS.markets, inOneReply: false };

const CHECK_EVERY_MS = 250;

/** After a failed load a scope is tried again after twice as long each time, up to this. Milliseconds. */
const RETRY_MAX_MS = 4_000;

/** How many scopes are loaded again at a time: look-ups need MongoDB as well. */
const AT_A_TIME = 8;

/**
 * Loads scopes that are watched: when they are asked for, and again where they are streamed and could not be kept
 * current. Drops those whose lease has ended.
 */
@Injectable()
export class WatchLoader implements OnApplicationShutdown {
  private readonly logger = new Logger(WatchLoader.name);
  /** For each scope that is being loaded, the load: after a restart many ask for the same at once. */
  private readonly loads = new Map<Scope, Promise<ReadonlyMap<Scope, Loaded>>>();
  private isReloading = false;
  private readonly timer = setInterval(() => void this.check(), CHECK_EVERY_MS).unref();

  constructor(
    private readonly loader: ScopeLoader,
    private readonly watched: WatchedScopes,
  ) {}

  /**
   * Loads those that are not being loaded, and waits for all.
   * @returns what became of each scope; undefined for one that another caller was loading, if that load has failed:
   * what that caller loads besides may be to blame, so another load may succeed
   * @throws Problem when MongoDB can't answer (in time)
   */
  async load(scopes: readonly Scope[]) {
    const own = scopes.filter((scope) => !this.loads.has(scope));
    this.begin(own);
    const loaded = scopes.map(async (scope) => {
      const load = this.loads.get(scope);
      const settled = own.includes(scope) ? load : load?.catch(() => undefined);
      return [scope, (await settled)?.get(scope)] as const;
    });
    return new Map(await Promise.all(loaded));
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private begin(scopes: readonly Scope[]): void {
    if (scopes.length === 0) return;
    const load = this.loader
      .load(scopes, BOUNDS, (made) => this.watched.keep(made))
      .finally(() => {
        for (const scope of scopes) this.loads.delete(scope);
      });
    for (const scope of scopes) this.loads.set(scope, load);
  }

  private async check(): Promise<void> {
    const now = performance.now();
    this.watched.expire(now);
    if (this.isReloading) return;
    this.isReloading = true;
    const due = this.watched.missing.filter(({ retryAt }) => retryAt <= now).values();
    // They share one iterator, so that each takes the next scope that is due.
    const reloadNext = async () => {
      for (const missing of due) await this.reload(missing);
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, reloadNext));
    this.isReloading = false;
  }

  private async reload(missing: WatchedScope): Promise<void> {
    try {
      const { key: scope, watchers } = missing;
      const loaded = await this.load([scope]);
      // Its own size counts: a load that others asked for may be too large because of another scope.
      if (tooMuchData([scope], (key) => loaded.get(key)?.count))
        for (const watcher of watchers) watcher.end('size');
    } catch (error) {
      if (!(error instanceof Problem))
        this.logger.error({ err: error }, 'A watched scope could not be loaded');
    }
    missing.retryMs =
      missing.bytes > 0 ? 0 : Math.min(RETRY_MAX_MS, 2 * missing.retryMs + CHECK_EVERY_MS);
    missing.retryAt = performance.now() + missing.retryMs;
  }
}
