import { Injectable } from '@nestjs/common';
import { Problem } from '../common/problem.js';
import { Database } from '../database/database.js';

/** A ping that takes longer says that reads would, too. Milliseconds. */
const PING_BUDGET_MS = 1_000;

/** An answer this old is not asked for again: many probes, one ping. Milliseconds. */
const PING_AGAIN_AFTER_MS = 200;

@Injectable()
export class ReadinessService {
  private shuttingDown = false;
  private lastPing:
    { readonly at: number; readonly result: Promise<string | undefined> } | undefined;

  constructor(private readonly database: Database) {}

  /** From now on the probe says no, so that no new work is sent here. */
  shutDown(): void {
    this.shuttingDown = true;
  }

  /** Why no requests should be sent here, or nothing. */
  async reasonAgainst(): Promise<string | undefined> {
    if (this.shuttingDown) return 'The service is shutting down.';
    const now = performance.now();
    if (!this.lastPing || now - this.lastPing.at > PING_AGAIN_AFTER_MS) {
      this.lastPing = { at: now, result: this.ping() };
    }
    return this.lastPing.result;
  }

  private async ping(): Promise<string | undefined> {
    try {
      await this.database.read(PING_BUDGET_MS, (options) =>
        this.database.connection
          .collection('markets')
          .findOne({}, { ...options, projection: { _id: 1 } }),
      );
      return undefined;
    } catch (error) {
      // All connections are busy with reads: whoever takes work away now only moves the load to others.
      if (error instanceof Problem && error.code === 'overloaded') return undefined;
      return 'MongoDB cannot be read.';
    }
  }
}
