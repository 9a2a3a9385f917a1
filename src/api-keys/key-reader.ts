import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { API_KEYS } from '../common/collections.js';
import { elapsedMs, momentBefore, momentNow, type Moment } from '../common/moment.js';
import { READ_BUDGET_MS } from '../database/bounded-reads.js';
import { Database } from '../database/database.js';
import { Problem } from '../http/problem.js';
import type { StoredApiKey } from './stored-api-key.js';

/** A record is trusted for this long after its read began: a revoked key stops working within it. */
const TRUST_MS = 2_000;
/** At this age a record in use is read again in the background, so that no request waits for the read. */
const REFRESH_AFTER_MS = 750;

/** What MongoDB had under an id when it was read last. */
export interface KnownKey {
  /** Undefined: there was none. */
  readonly record: StoredApiKey | undefined;
  /** When the read began; earlier by what a secondary may lack, if one answered. */
  readonly readAt: Moment;
}

export function isTrusted({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < TRUST_MS;
}

export function isRecent({ readAt }: KnownKey): boolean {
  return elapsedMs(readAt) < REFRESH_AFTER_MS;
}

/** Reads records of keys from MongoDB: one query for all that are asked for in one turn of the event loop. */
@Injectable()
export class KeyReader {
  private ids: string[] = [];
  private batch: Promise<(id: string) => KnownKey> | undefined;

  constructor(private readonly database: Database) {}

  /** @throws Problem when MongoDB can't tell */
  async find(id: string): Promise<KnownKey> {
    this.ids.push(id);
    this.batch ??= setImmediate().then(() => this.read());
    return (await this.batch)(id);
  }

  private async read(): Promise<(id: string) => KnownKey> {
    const { ids } = this;
    this.ids = [];
    this.batch = undefined;
    const command = {
      find: API_KEYS,
      filter: { _id: { $in: ids } },
      batchSize: ids.length + 1,
    };
    const began = momentNow();
    try {
      return await this.database.read(READ_BUDGET_MS.key, async (attempt) => {
        const rows = (await attempt.rows(command)) as StoredApiKey[];
        const records = new Map(rows.map((record) => [record._id, record]));
        const readAt = momentBefore(began, attempt.ageMs);
        return (id: string) => ({ record: records.get(id), readAt });
      });
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'database_timeout') throw error;
      // Why a key can't be checked is of no use to its caller.
      const detail = 'The key cannot be checked now. Please try again.';
      throw new Problem('database_unavailable', detail);
    }
  }
}
