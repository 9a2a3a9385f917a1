import { LRUCache } from 'lru-cache';

export const WINDOW_SECONDS = 60;

/** What a name has used of its present window after an attempt to count points. */
export interface Added {
  readonly used: number;
  readonly msLeft: number;
  /** Whether the points were counted. */
  readonly fits: boolean;
}

/**
 * Counts by name, in windows of a minute that begin with a name's first count. A monotonic clock tells when a window
 * ends: jumps of the wall clock would free callers or lock them out.
 */
export class WindowCounter {
  private readonly windows: LRUCache<string, { used: number }>;

  /** @param maxNames counted at a time; beyond it the one longest unused starts anew */
  constructor(maxNames: number, clock: { now(): number } = performance) {
    const ttl = WINDOW_SECONDS * 1_000;
    this.windows = new LRUCache({ max: maxNames, ttl, ttlResolution: 0, perf: clock });
  }

  /** Counts points, unless more than `usedMax` are used already. */
  add(name: string, points = 1, usedMax = Infinity): Added {
    let window = this.windows.get(name);
    if (!window) this.windows.set(name, (window = { used: 0 }));
    const fits = window.used <= usedMax;
    if (fits) window.used += points;
    return { used: window.used, msLeft: this.windows.getRemainingTTL(name), fits };
  }

  /** How much of its window a name has used. */
  used(name: string): number {
    return this.windows.get(name)?.used ?? 0;
  }
}
