/** Who is told of scopes that changed, could no longer be kept current, or are there again. */
export interface ScopeWatcher {
  /** Told of each commit, before it is pumped. */
  markNew(): void;
  /** Called once for the commits that were told together. */
  pump(): void;
  end(reason: 'size'): void;
}

/** Wakes watchers: commits that are told together make one event. */
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
