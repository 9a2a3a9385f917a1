import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Problem } from '../../http/problem.js';
import { WatchLoader } from './watch-loader.js';
import type { WatchedScope } from './watched-scope.js';
import { WatchedScopes } from './watched-scopes.js';

const CHECK_EVERY_MS = 250;

/** After a failed load a scope is tried again after twice as long each time, up to this. Milliseconds. */
const RETRY_MAX_MS = 4_000;

/** How many scopes are loaded at a time: look-ups need MongoDB as well. */
const AT_A_TIME = 8;

/** Loads streamed scopes again that could not be kept current, and drops scopes whose lease has ended. */
@Injectable()
export class ScopeReloader implements OnApplicationShutdown {
  private readonly logger = new Logger(ScopeReloader.name);
  private isLoading = false;
  private readonly timer = setInterval(() => void this.check(), CHECK_EVERY_MS).unref();

  constructor(
    private readonly loader: WatchLoader,
    private readonly watched: WatchedScopes,
  ) {}

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    const now = performance.now();
    this.watched.expire(now);
    if (this.isLoading) return;
    this.isLoading = true;
    const due = this.watched.missing.filter(({ retryAt }) => retryAt <= now).values();
    await Promise.all(Array.from({ length: AT_A_TIME }, () => this.reloadAll(due)));
    this.isLoading = false;
  }

  private async reloadAll(due: Iterable<WatchedScope>): Promise<void> {
    for (const missing of due) await this.reload(missing);
  }

  private async reload(missing: WatchedScope): Promise<void> {
    try {
      const { key, scope, watchers } = missing;
      const loaded = await this.loader.load([scope]);
      if (loaded.get(key)?.unfit === 'too large')
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
