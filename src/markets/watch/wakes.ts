import type { ScopeWatcher } from './watched-scope.js';

/** Wakes watchers once for all commits that are told in one turn of the event loop. */
export class Wakes {
  private woken = new Set<ScopeWatcher>();

  wake(watchers: ReadonlySet<ScopeWatcher>): void {
    if (this.woken.size === 0 && watchers.size > 0) setImmediate(() => this.pump());
    for (const watcher of watchers) {
      watcher.markNew();
      this.woken.add(watcher);
    }
  }

  private pump(): void {
    const { woken } = this;
    this.woken = new Set();
    for (const watcher of woken) watcher.pump();
  }
}
