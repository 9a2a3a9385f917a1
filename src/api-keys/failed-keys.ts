import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import type { Problem } from '../http/problem.js';
import { rateLimited } from './rate-limited.js';
import { WindowCounter } from './window-counter.js';

/** Clients counted at a time, some 500 bytes each. */
const MAX_CLIENTS = 20_000;

/** A good key of a limited client is read in the background, and passes after this. */
const RETRY_AFTER_MS = 1_000;

/** Counts the refused keys of each client. */
@Injectable()
export class FailedKeys {
  private readonly minute = new WindowCounter(MAX_CLIENTS);
  private readonly limit: number;

  constructor(@Inject(Config) { authFailuresPerMinute }: Config) {
    this.limit = authFailuresPerMinute;
  }

  isOverLimit(client: string): boolean {
    return this.limit > 0 && this.minute.used(client) >= this.limit;
  }

  count(client: string): void {
    if (this.limit > 0) this.minute.add(client);
  }

  refusal(client: string): Problem {
    return rateLimited('Too many requests with bad keys came from your address. Please wait.', {
      policy: 'failed-keys',
      limit: this.limit,
      used: this.minute.used(client),
      msLeft: RETRY_AFTER_MS,
    });
  }
}
