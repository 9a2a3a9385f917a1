import type { CachedScope } from '../cache/cached-scope.js';
import type { Scope } from '../scope.js';

/** Who is told of scopes that changed, could not be kept current, or are in memory again. */
export interface ScopeWatcher {
  /** Told of each commit. */
  markNew(): void;
  /** Called once for all commits that were told in one turn of the event loop. */
  pump(): void;
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
}
