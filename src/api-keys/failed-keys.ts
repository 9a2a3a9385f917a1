import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import { rateLimited } from './rate-limited.js';
import { WindowCounter } from './window-counter.js';

/** Client addresses counted at a time, some 500 bytes each. */
const MAX_ADDRESSES = 20_000;

/**
 * Limits how many refused keys an address may try. Beyond a minute's number a sixtieth of it still passes each
 * second: who shares the address with the culprit, and comes with a good key not yet in memory, waits a
 * second and not a minute.
 */
@Injectable()
export class FailedKeys {
  private readonly minute = new WindowCounter({ windowMs: 60_000, maxNames: MAX_ADDRESSES });
  private readonly second = new WindowCounter({ windowMs: 1_000, maxNames: MAX_ADDRESSES });

  constructor(@Inject(Config) private readonly config: Config) {}

  /** @throws Problem `rate_limited` when too many keys from this address were refused */
  check(address: string): void {
    const limit = this.config.authFailuresPerMinute;
    if (limit === 0) return;
    const used = this.minute.used(address);
    if (used < limit) return;
    if (this.second.used(address) < Math.ceil(limit / 60)) return;
    throw rateLimited('Too many requests with bad keys came from your address. Please wait.', {
      policy: 'failed-keys',
      limit,
      windowSeconds: 60,
      used,
      msLeft: 1_000,
    });
  }

  count(address: string): void {
    if (this.config.authFailuresPerMinute === 0) return;
    this.minute.add(address);
    this.second.add(address);
  }
}
