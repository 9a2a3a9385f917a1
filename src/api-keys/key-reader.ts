import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { READ_BUDGET_MS } from '../database/bounded-reads.js';
import { Database } from '../database/database.js';
import { Problem } from '../http/problem.js';
import { StoredApiKey } from './api-key.schema.js';

interface FoundKeys {
  readonly records: readonly StoredApiKey[];
  /** What was read may be so old. Milliseconds. */
  readonly ageMs: number;
}

/** Reads records of keys from MongoDB. */
@Injectable()
export class KeyReader {
  constructor(
    @InjectModel(StoredApiKey.name) private readonly model: Model<StoredApiKey>,
    private readonly database: Database,
  ) {}

  /** @throws Problem when MongoDB can't tell */
  async find(ids: readonly string[]): Promise<FoundKeys> {
    const command = {
      find: this.model.collection.name,
      filter: { _id: { $in: ids } },
      batchSize: ids.length + 1,
    };
    try {
      return await this.database.read(READ_BUDGET_MS.key, async (attempt) => ({
        records: (await attempt.rows(command)) as StoredApiKey[],
        ageMs: attempt.ageMs,
      }));
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'database_timeout') throw error;
      // For a caller whose key can't be checked it's all the same why.
      const detail = 'The key cannot be checked now. Please try again.';
      throw new Problem('database_unavailable', detail, { headers: { 'Retry-After': '1' } });
    }
  }
}
