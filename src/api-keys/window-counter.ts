import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

interface WindowCounterOptions {
  readonly windowMs: number;
  /** Names counted at a time; beyond it the one longest unused starts anew. */
  readonly maxNames: number;
  readonly clock?: { now(): number };
}

/**
 * Counts by name, in windows that begin with a name's first count. The library counts; a monotonic clock
 * tells when a window ends, since the library's own is the wall clock, whose jumps free callers or lock them
 * out.
 */
export class WindowCounter extends RateLimiterMemory {
  private readonly windows: LRUCache<string, true>;

  constructor({ windowMs, maxNames, clock = performance }: WindowCounterOptions) {
    // Duration 0: no count ends by the library's clock. Points 0: the library judges nothing.
    super({ points: 0, duration: 0 });
    this.windows = new LRUCache({
      max: maxNames,
      ttl: windowMs,
      ttlResolution: 0,
      perf: clock,
      dispose: (_window, name) => void this.delete(name),
    });
  }

  /** Counts one more. */
  override async penalty(name: string): Promise<RateLimiterRes> {
    if (!this.windows.get(name)) this.windows.set(name, true);
    return this.withTimeLeft(name, await super.penalty(name));
  }

  /** What is counted now. */
  override async get(name: string): Promise<RateLimiterRes | null> {
    const count = this.windows.get(name) && (await super.get(name));
    return count ? this.withTimeLeft(name, count) : null;
  }

  private withTimeLeft(name: string, { consumedPoints }: RateLimiterRes): RateLimiterRes {
    return new RateLimiterRes(0, this.windows.getRemainingTTL(name), consumedPoints);
  }
}
