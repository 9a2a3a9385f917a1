import { expect, it } from '@jest/globals';
import { elapsedMs } from '../common/moment.js';
import type { Database } from '../database/database.js';
import { SECONDARY_AGE_MS } from '../database/read-after-time.js';
import { KeyReader } from './key-reader.js';

it.each([0, SECONDARY_AGE_MS])(
  'knows a record to be as old as what was read: %i ms',
  async (ageMs) => {
    const attempt = { ageMs, rows: async () => [{ _id: 'known' }] };
    const database = {
      read: (_budgetMs: number, read: (from: typeof attempt) => unknown) => read(attempt),
    };
    const reader = new KeyReader(database as unknown as Database);
    const { record, readAt } = await reader.find('known');
    expect(record).toEqual({ _id: 'known' });
    expect(elapsedMs(readAt)).toBeGreaterThanOrEqual(ageMs);
    expect(elapsedMs(readAt)).toBeLessThan(ageMs + 1_000);
  },
);
