import { LRUCache } from 'lru-cache';

interface WindowCounterOptions {
  readonly windowMs: number;
  /** Names counted at a time; beyond it the one longest unused starts anew. */
  readonly maxNames: number;
  readonly clock?: { now(): number };
}

/** What a name has used of the window that it is in. */
export interface Count {
  readonly used: number;
  readonly msLeft: number;
}

/**
 * Counts by name, in windows that begin with a name's first count. A monotonic clock tells when a window ends:
 * jumps of the wall clock would free callers or lock them out.
 */
export class WindowCounter {
  private readonly windows: LRUCache<string, { used: number }>;

  constructor({ windowMs, maxNames, clock = performance }: WindowCounterOptions) {
    this.windows = new LRUCache({ max: maxNames, ttl: windowMs, ttlResolution: 0, perf: clock });
  }

  /** Counts points more, or fewer if they are negative. */
  add(name: string, points = 1): Count {
    let window = this.windows.get(name);
    if (!window) this.windows.set(name, (window = { used: 0 }));
    window.used = Math.max(window.used + points, 0);
    return { used: window.used, msLeft: this.windows.getRemainingTTL(name) };
  }

  /** What is counted now. */
  used(name: string): number {
    return this.windows.get(name)?.used ?? 0;
  }
}
