import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Config } from '../config.js';
import type { RedisCounter } from './redis-counter.js';
import { WindowCounter, type Count } from './window-counter.js';

const MAX_KEYS = 100_000;

/** Counts the requests of each key: in this process, or in Redis for all replicas together. */
@Injectable()
export class RequestCounter implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly own = new WindowCounter(MAX_KEYS);
  private redis: RedisCounter | undefined;

  constructor(@Inject(Config) private readonly config: Config) {}

  async onApplicationBootstrap(): Promise<void> {
    const { redisUrl } = this.config;
    if (!redisUrl) return;
    // Most services run without Redis, and need not load its client.
    const { RedisCounter: Shared } = await import('./redis-counter.js');
    this.redis = new Shared(redisUrl);
    await this.redis.connect();
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  /** Counts points of a key, or takes them back if they are negative. At once, unless Redis counts. */
  add(id: string, points = 1): Count | Promise<Count> {
    return this.redis ? this.addTogether(this.redis, id, points) : this.own.add(id, points);
  }

  private async addTogether(redis: RedisCounter, id: string, points: number): Promise<Count> {
    return (await redis.add(id, points)) ?? this.own.add(id, points);
  }
}
