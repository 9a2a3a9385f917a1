import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config.js';
import type { RedisConnection } from './redis-connection.js';
import { WINDOW_SECONDS, WindowCounter, type Added } from './window-counter.js';

const KEYS_MAX = 100_000;

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

/** Counts the requests of each key: in Redis for all replicas together; without it, or while it is away, in this process. */
@Injectable()
export class RequestCounter implements OnModuleInit, OnApplicationShutdown {
  private readonly inProcess = new WindowCounter(KEYS_MAX);
  private redis: RedisConnection | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly config: Config) {}

  async onModuleInit(): Promise<void> {
    if (!this.config.redisUrl) return;
    // Most services run without Redis, and need not load its client.
    const { RedisConnection } = await import('./redis-connection.js');
    this.redis = new RedisConnection(this.config.redisUrl);
    await this.redis.connect();
    this.timer = setInterval(() => {
      if (this.isRedisAway) void this.add('', 0, 0);
    }, CHECK_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.redis?.close();
  }

  get isRedisAway(): boolean {
    return this.redis?.isAway ?? false;
  }

  /** Counts points of a key, unless more than `usedMax` are used already. At once, unless Redis counts. */
  add(id: string, points: number, usedMax: number): Added | Promise<Added> {
    const addHere = () => this.inProcess.add(id, points, usedMax);
    if (!this.redis) return addHere();
    return this.redis.run(ADD, KEY_PREFIX + id, points, usedMax).then((added) => {
      const [used, msLeft, fits] = added as [number, number, number];
      return { used, msLeft, fits: fits === 1 };
    }, addHere);
  }
}
