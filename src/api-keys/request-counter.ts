import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { Config } from '../config.js';
import { WINDOW_SECONDS, WindowCounter, type Count } from './window-counter.js';

const MAX_KEYS = 100_000;
const NAMES_IN_REDIS = 'markets-odds:requests';

/** A request waits this long for Redis at most, and not at all while Redis is known to be away. */
const REDIS_ANSWERS_WITHIN_MS = 200;
const RECONNECT_WITHIN_MS = 1_000;

/** Counts the requests of each key: in this process, or in Redis for all replicas together. */
@Injectable()
export class RequestCounter implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RequestCounter.name);
  private readonly own = new WindowCounter(MAX_KEYS);
  private readonly redis: Redis | undefined;
  private readonly shared: RateLimiterRedis | undefined;
  private redisIsAway = false;

  constructor(@Inject(Config) { redisUrl }: Config) {
    if (!redisUrl) return;
    this.redis = new Redis(redisUrl, {
      lazyConnect: true,
      connectTimeout: REDIS_ANSWERS_WITHIN_MS,
      // For the whole answer: the socket's begins again with each byte.
      commandTimeout: REDIS_ANSWERS_WITHIN_MS,
      socketTimeout: REDIS_ANSWERS_WITHIN_MS,
      disconnectTimeout: REDIS_ANSWERS_WITHIN_MS,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_WITHIN_MS),
    });
    this.redis.on('error', (error) => this.noteRedis(error));
    this.shared = new RateLimiterRedis({
      storeClient: this.redis,
      rejectIfRedisNotReady: true,
      keyPrefix: NAMES_IN_REDIS,
      duration: WINDOW_SECONDS,
      // It only counts: each key has a limit of its own.
      points: 0,
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    // A failure comes as an 'error' event as well, and the client goes on trying.
    await this.redis?.connect().catch(() => undefined);
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  /** Counts points of a key, or takes them back if they are negative. At once, unless Redis counts. */
  add(id: string, points = 1): Count | Promise<Count> {
    return this.shared ? this.addInRedis(this.shared, id, points) : this.own.add(id, points);
  }

  private async addInRedis(shared: RateLimiterRedis, id: string, points: number): Promise<Count> {
    try {
      const { consumedPoints, msBeforeNext } = await shared.penalty(id, points);
      this.noteRedis();
      return { used: Math.max(consumedPoints, 0), msLeft: msBeforeNext };
    } catch (error) {
      this.noteRedis(error);
      // One that answers too slowly is connected anew: until then nobody waits for it.
      const hasAnswered = error instanceof Error && error.name === 'ReplyError';
      if (!hasAnswered && this.redis?.status === 'ready') this.redis.disconnect(true);
      return this.own.add(id, points);
    }
  }

  /** @param failure of the newest try, if it failed */
  private noteRedis(failure?: unknown): void {
    const isAway = failure !== undefined;
    if (isAway === this.redisIsAway) return;
    this.redisIsAway = isAway;
    if (!isAway) return this.logger.log('Redis is back: requests are counted together again');
    // Only the message: the error itself may hold the command, and that the password.
    const reason = failure instanceof Error ? failure.message : 'unknown';
    this.logger.warn(`Redis is away, each process counts requests for itself: ${reason}`);
  }
}
