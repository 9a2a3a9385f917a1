import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../common/text.js';

/** A request waits this long for Redis at most, and not at all while Redis is known to be away. */
const ANSWERS_WITHIN_MS = 200;
const RECONNECT_WITHIN_MS = 1_000;

/** A connected Redis that is not ready for so long is loading its data. Milliseconds. */
const READY_WITHIN_MS = 500;

/** The connection to Redis: made again whenever it is lost. The log tells when Redis is away, and why. */
export class RedisConnection {
  private readonly logger = new Logger('RequestCounter');
  private readonly redis: Redis;
  private connectedAt = Infinity;
  /** Why Redis is away, as the log has told last: the code of an error. Undefined while Redis is there. */
  private told: string | undefined;
  /** Whether the connection is being closed for answering too slowly. */
  private isLeaving = false;

  constructor(url: string) {
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
        // Redis has closed the connection again. Where an error has told why before, `note` ignores this one.
        if (attempt > 1) this.note(new Error('it closes the connection'));
        return Math.min(attempt * 50, RECONNECT_WITHIN_MS);
      },
    });
    this.redis.on('error', (error: Error) => {
      this.note(error);
      // Where the database of the URL could not be selected in time, the client would go on in another.
      if (this.redis.status === 'connect') this.redis.disconnect(true);
    });
    this.redis.on('connect', () => (this.connectedAt = performance.now()));
    this.redis.on('close', () => (this.isLeaving = false));
  }

  get isAway(): boolean {
    return this.told !== undefined;
  }

  /** Resolves when Redis is there, or has not come in time: the client goes on trying. */
  async connect(): Promise<void> {
    // A failure comes as an 'error' event as well.
    const connected = this.redis.connect().catch(() => undefined);
    await Promise.race([connected, delay(RECONNECT_WITHIN_MS, undefined, { ref: false })]);
  }

  close(): void {
    this.redis.disconnect();
  }

  /**
   * Runs a script on one key.
   * @throws when Redis is away
   */
  async run(script: string, key: string, ...args: number[]): Promise<unknown> {
    try {
      const result = await this.redis.eval(script, 1, key, ...args);
      this.note();
      return result;
    } catch (error) {
      const { status } = this.redis;
      if (status === 'ready') this.failed(error as Error);
      // Without a connection, an 'error' event has told why. Only of a Redis that does not become ready there is none.
      else if (status === 'connect' && performance.now() - this.connectedAt > READY_WITHIN_MS)
        this.note(new Error('it loads its data'));
      throw error;
    }
  }

  /** Notes an error of a connection that is there, and makes one anew that answers too slowly. */
  private failed(error: Error): void {
    this.note(error);
    // Once for a connection: its client takes a timer and a listener for each call.
    if (error.name === 'ReplyError' || this.isLeaving) return;
    this.isLeaving = true;
    this.redis.disconnect(true);
  }

  /** @param failure of the newest try, if it failed */
  private note(failure?: Error): void {
    // Redis may be noted as away, by a timeout for one, before it answers with an error: that error is told, too.
    const message = failure && messageOf(failure);
    const code = message?.split(' ')[0];
    const isNews = failure?.name === 'ReplyError' && code !== this.told;
    if ((code !== undefined) === this.isAway && !isNews) return;
    this.told = code;
    if (message === undefined)
      return this.logger.log('Redis is back: requests are counted together again');
    // Only the message: the error itself may hold the command, and that the password.
    const text = `Redis is away, each process counts requests for itself: ${message}`;
    this.logger.warn(text);
  }
}
