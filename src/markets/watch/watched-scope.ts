import type { Scope } from '../scope.js';

/** A stream, as far as its scopes know it. */
export interface ScopeWatcher {
  /** Told of each change to a scope, when it could not be kept current, and when it is in memory again. */
  markNew(): void;
  /** A scope has grown too large, or there is no more room for what is watched. */
  end(reason: 'size'): void;
}

/** A scope that is streamed, or was asked for a short time ago. */
export class WatchedScope {
  readonly watchers = new Set<ScopeWatcher>();
  /** What it takes in memory; 0 while it has to be loaded (again). */
  bytes = 0;
  leasedUntil = 0;
  /** When it is loaded again if it is missing. */
  retryAt = 0;
  retryMs = 0;

  constructor(readonly key: Scope) {}

  markNew(): void {
    for (const watcher of this.watchers) watcher.markNew();
  }
}
