import type { CachedScope } from '../cache/cached-scope.js';
import type { Scope } from '../scope.js';

/** Who watches scopes. */
export interface ScopeWatcher {
  /** Told of each commit to a scope, when it could not be kept current, and when it is in memory again. */
  markNew(): void;
  /** A scope has grown too large. */
  end(reason: 'size'): void;
}

/** A scope that is streamed, or was asked for a short time ago. */
export class WatchedScope {
  readonly watchers = new Set<ScopeWatcher>();
  /** Undefined while it has to be loaded (again). */
  live: CachedScope | undefined;
  bytes = 0;
  leasedUntil = 0;
  /** When it is loaded again if it is missing. */
  retryAt = 0;
  retryMs = 0;

  constructor(readonly scope: Scope) {}

  markNew(): void {
    for (const watcher of this.watchers) watcher.markNew();
  }
}
