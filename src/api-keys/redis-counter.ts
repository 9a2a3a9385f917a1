import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { WINDOW_SECONDS, type Added, type WindowCounter } from './window-counter.js';

const KEY_PREFIX = 'markets-odds:requests:';

/**
 * As `WindowCounter.add`; Redis runs it as one step. A window that lasts longer than a minute, since the clock of Redis
 * was set back, or that has no end, is begun anew.
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
  if fits then used = redis.call('incrby', KEYS[1], ARGV[1]) end
  return { used, msLeft, fits and 1 or 0 }`;

/** A request waits this long for Redis at most, and not at all while Redis is known to be away. */
const ANSWERS_WITHIN_MS = 200;
const RECONNECT_WITHIN_MS = 1_000;

/** How often it is checked whether Redis counts again, since requests of keys with a limit may not come for long. */
const CHECK_EVERY_MS = 1_000;

/** Counts the requests of each key in Redis for all replicas together; while Redis is away, in this process. */
export class RedisCounter implements OnApplicationShutdown {
  private readonly logger = new Logger('RequestCounter');
  private readonly redis: Redis;
  isAway = false;
  /** Whether its connection is being closed for answering too slowly. */
  private isLeaving = false;
  private readonly timer = setInterval(() => this.checkIfBack(), CHECK_EVERY_MS).unref();

  /** @param fallback counts while Redis is away */
  constructor(
    url: string,
    private readonly fallback: WindowCounter,
  ) {
    this.redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: ANSWERS_WITHIN_MS,
      // Bounds the whole answer: `socketTimeout` begins again with each byte.
      commandTimeout: ANSWERS_WITHIN_MS,
      socketTimeout: ANSWERS_WITHIN_MS,
      disconnectTimeout: ANSWERS_WITHIN_MS,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      // A new connection finds the new primary after a failover.
      reconnectOnError: ({ message }) => message.startsWith('READONLY'),
      retryStrategy: (attempt) => {
        // If it told why it ends connections, that is noted already.
        if (attempt > 1) this.note(new Error('it closes the connection'));
        return Math.min(attempt * 50, RECONNECT_WITHIN_MS);
      },
    });
    this.redis.on('error', (error: Error) => {
      this.note(error);
      // The client would go on in another database than the URL names.
      if (error.message.includes('DB index is out of range')) this.redis.disconnect(true);
    });
    this.redis.on('close', () => (this.isLeaving = false));
  }

  /** Resolves when Redis is there, or has not come in time: the client goes on trying. */
  async connect(): Promise<void> {
    // A failure comes as an 'error' event as well.
    const connected = this.redis.connect().catch(() => undefined);
    await Promise.race([connected, delay(RECONNECT_WITHIN_MS, undefined, { ref: false })]);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.redis.disconnect();
  }

  async add(id: string, points: number, usedMax: number): Promise<Added> {
    try {
      const added = await this.redis.eval(ADD, 1, KEY_PREFIX + id, points, usedMax);
      this.note();
      const [used, msLeft, fits] = added as [number, number, number];
      return { used, msLeft, fits: fits === 1 };
    } catch (error) {
      // Why there is no connection is told by the client's events.
      if (this.redis.status === 'ready') this.failed(error as Error);
      return this.fallback.add(id, points, usedMax);
    }
  }

  private checkIfBack(): void {
    if (this.isAway && this.redis.status === 'ready') void this.add('', 0, 0);
  }

  /** Tells of an error. A connection that answers too slowly is made anew: until then requests are counted here. */
  private failed(error: Error): void {
    this.note(error);
    // Once for a connection: its client takes a timer and a listener for each call.
    if (error.name === 'ReplyError' || this.isLeaving) return;
    this.isLeaving = true;
    this.redis.disconnect(true);
  }

  /** @param failure of the newest try, if it failed */
  private note(failure?: Error): void {
    const isAway = failure !== undefined;
    if (isAway === this.isAway) return;
    this.isAway = isAway;
    if (!isAway) return this.logger.log('Redis is back: requests are counted together again');
    // Only the message: the error itself may hold the command, and that the password.
    const text = `Redis is away, each process counts requests for itself: ${failure.message}`;
    this.logger.warn(text);
  }
}
