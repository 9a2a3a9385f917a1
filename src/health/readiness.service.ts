import { Injectable, Logger } from '@nestjs/common';
import { ChangeFeed } from '../change-feed/change-feed.js';
import { COLLECTIONS, MARKETS } from '../common/collections.js';
import { Problem } from '../http/problem.js';
import { Database } from '../database/database.js';
import type { ReadyState } from './health-state.dto.js';

/** If a ping takes longer, reads would, too. Milliseconds. */
const PING_BUDGET_MS = 1_000;

/** Probes within this time share a ping. Milliseconds. */
const PING_AGAIN_AFTER_MS = 200;

@Injectable()
export class ReadinessService {
  private readonly logger = new Logger(ReadinessService.name);
  private shuttingDown = false;
  private lastPing = { at: -Infinity, result: Promise.resolve(true) };
  /** Whether the log said last that MongoDB, though it is there, gives no answer. */
  private isSilent = false;

  constructor(
    private readonly database: Database,
    private readonly feed: ChangeFeed,
  ) {}

  /** From now on the probe says no, so that no new work is sent here. */
  shutDown(): void {
    this.shuttingDown = true;
  }

  /** @throws Problem when no requests should be sent here */
  async check(): Promise<void> {
    if (this.shuttingDown)
      throw new Problem('database_unavailable', 'The service is shutting down.');
    if (!(await this.canRead()))
      throw new Problem('database_unavailable', 'MongoDB cannot be read.');
  }

  /** Whether MongoDB answers a read now, within a second. */
  canRead(): Promise<boolean> {
    const now = performance.now();
    const isOld = now - this.lastPing.at > PING_AGAIN_AFTER_MS;
    if (isOld) this.lastPing = { at: now, result: this.ping() };
    return this.lastPing.result;
  }

  /** The body of a good answer, from memory: MongoDB is not asked. */
  state(): ReadyState {
    const { state, lateBecause, ageMs } = this.feed.status;
    const newest = this.feed.listeners.newestChangeOf(MARKETS);
    return {
      status: 'ready',
      changeFeed: {
        state,
        lateBecause,
        ageSeconds: Number.isFinite(ageMs) ? seconds(ageMs) : undefined,
      },
      newestChange: newest && {
        at: newest.toISOString(),
        ageSeconds: seconds(Date.now() - newest.getTime()),
      },
    };
  }

  private async ping(): Promise<boolean> {
    const canRead = await this.read();
    const { readable, hasAccess, summary } = this.database.topology;
    const isSilent = !canRead && (this.isSilent || (readable && hasAccess));
    if (isSilent && !this.isSilent) this.logger.warn(`MongoDB answers no reads: ${summary}`);
    if (canRead && this.isSilent) this.logger.log('MongoDB answers reads again');
    this.isSilent = isSilent;
    return canRead;
  }

  private async read(): Promise<boolean> {
    try {
      await this.database.read(PING_BUDGET_MS, async (attempt) => {
        for (const find of COLLECTIONS) {
          await attempt.command({ find, projection: { _id: 1 }, limit: 1 });
        }
      });
      return true;
    } catch (error) {
      // Busy is not broken: without this replica the others would have its load, too.
      return error instanceof Problem && error.code === 'overloaded';
    }
  }
}

/** Rounded up to the millisecond; 0 where MongoDB's clock is ahead of ours. */
function seconds(ms: number): number {
  return Math.max(0, Math.ceil(ms)) / 1_000;
}
