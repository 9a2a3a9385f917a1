import type { OnApplicationShutdown } from '@nestjs/common';
import type { RedisConnection } from './redis-connection.js';
import { WINDOW_SECONDS, type Added, type WindowCounter } from './window-counter.js';

/** Redis Cluster chooses the node by the text in braces. It is the same for all keys, so that one node counts them. */
const KEY_PREFIX = 'markets-odds:{requests}:';

/**
 * As `WindowCounter.add`; Redis runs it as one step. A window that lasts longer than a minute, since the clock of Redis
 * was set back, or that has no end, is begun anew. It always writes, so it fails wherever Redis takes no writes.
 */
const ADD = `
  local window = ${WINDOW_SECONDS * 1_000}
  local msLeft = redis.call('pttl', KEYS[1])
  if msLeft < 0 or msLeft > window then
    msLeft = window
    redis.call('set', KEYS[1], 0, 'PX', msLeft)
  end
  local used = tonumber(redis.call('get', KEYS[1]))
  local fits = used <= tonumber(ARGV[2])
  used = redis.call('incrby', KEYS[1], fits and ARGV[1] or 0)
  return { used, msLeft, fits and 1 or 0 }`;

/** While Redis is away it is tried this often, since requests of keys with a limit may not come for long. */
const CHECK_EVERY_MS = 1_000;

/** Counts the requests of each key in Redis for all replicas together; while Redis is away, in this process. */
export class RedisCounter implements OnApplicationShutdown {
  private readonly timer = setInterval(() => {
    if (this.isRedisAway) void this.add('', 0, 0);
  }, CHECK_EVERY_MS).unref();

  /** @param fallback counts while Redis is away */
  constructor(
    private readonly redis: RedisConnection,
    private readonly fallback: WindowCounter,
  ) {}

  get isRedisAway(): boolean {
    return this.redis.isAway;
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.redis.close();
  }

  async add(id: string, points: number, usedMax: number): Promise<Added> {
    try {
      const added = await this.redis.run(ADD, KEY_PREFIX + id, points, usedMax);
      const [used, msLeft, fits] = added as [number, number, number];
      return { used, msLeft, fits: fits === 1 };
    } catch {
      return this.fallback.add(id, points, usedMax);
    }
  }
}
