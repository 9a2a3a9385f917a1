import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Redis } from 'ioredis';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { Config } from '../config.js';
import { WindowCounter } from './window-counter.js';

export const WINDOW_SECONDS = 60;
const MAX_KEYS = 100_000;
const NAMES_IN_REDIS = 'markets-odds:requests';

/** A request waits this long for Redis at most, and not at all while Redis is known to be away. */
const REDIS_ANSWERS_WITHIN_MS = 200;
const RECONNECT_WITHIN_MS = 1_000;

/** Counts the requests of each key: in this process, or in Redis for all replicas together. */
@Injectable()
export class RequestCounter implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RequestCounter.name);
  private readonly own = new WindowCounter({ windowMs: WINDOW_SECONDS * 1000, maxNames: MAX_KEYS });
  private readonly redis: Redis | undefined;
  private readonly shared: RateLimiterRedis | undefined;
  private redisIsAway = false;

  constructor(@Inject(Config) { redisUrl }: Config) {
    if (!redisUrl) return;
    this.redis = new Redis(redisUrl, {
      lazyConnect: true,
      connectTimeout: REDIS_ANSWERS_WITHIN_MS,
      socketTimeout: REDIS_ANSWERS_WITHIN_MS,
      disconnectTimeout: REDIS_ANSWERS_WITHIN_MS,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_WITHIN_MS),
    });
    this.redis.on('error', (error) => this.redisFailed(error));
    this.shared = new RateLimiterRedis({
      storeClient: this.redis,
      rejectIfRedisNotReady: true,
      keyPrefix: NAMES_IN_REDIS,
      duration: WINDOW_SECONDS,
      // It judges nothing: each key has its own limit.
      points: 0,
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    // What is wrong is told by the 'error' event; the client goes on trying.
    await this.redis?.connect().catch(() => undefined);
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  /** Counts one more request of a key. */
  async count(id: string): Promise<RateLimiterRes> {
    if (!this.shared) return this.own.penalty(id);
    try {
      const count = await this.shared.penalty(id);
      this.redisAnswered();
      return count;
    } catch (error) {
      this.redisFailed(error);
      return this.own.penalty(id);
    }
  }

  private redisAnswered(): void {
    if (!this.redisIsAway) return;
    this.redisIsAway = false;
    this.logger.log('Redis is back: requests are counted together again');
  }

  private redisFailed(error: unknown): void {
    if (this.redisIsAway) return;
    this.redisIsAway = true;
    // Only the message: the error itself may hold the command, and that the password.
    const reason = error instanceof Error ? error.message : 'unknown';
    this.logger.warn(`Redis is away, each process counts requests for itself: ${reason}`);
  }
}
