import { Config } from '../config.js';
import { RedisCounter } from './redis-counter.js';
import { WindowCounter, type Added } from './window-counter.js';

const KEYS_MAX = 100_000;

/** Counts the requests of each key: in this process, or in Redis for all replicas together. */
export abstract class RequestCounter {
  /** Whether Redis can't be used at present, so that this process counts alone. Unset without REDIS_URL. */
  readonly isRedisAway?: boolean;

  /** Counts points of a key, unless more than `usedMax` are used already. At once, unless Redis counts. */
  abstract add(id: string, points: number, usedMax: number): Added | Promise<Added>;
}

export const requestCounterProvider = {
  provide: RequestCounter,
  inject: [Config],
  useFactory: async ({ redisUrl }: Config): Promise<RequestCounter> => {
    const inProcess = new WindowCounter(KEYS_MAX);
    if (!redisUrl) return inProcess;
    // Most services run without Redis, and need not load its client.
    const { RedisConnection } = await import('./redis-connection.js');
    const redis = new RedisConnection(redisUrl);
    await redis.connect();
    return new RedisCounter(redis, inProcess);
  },
};
