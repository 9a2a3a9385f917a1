import { expect, it, jest } from '@jest/globals';
import type { Document } from 'mongodb';
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

it('lets MongoDB close its cursor at once, so that no key waits for long reads', async () => {
  const rows = jest.fn(async (_command: Document) => []);
  const read = (_budgetMs: number, work: (from: object) => unknown) => work({ ageMs: 0, rows });
  const reader = new KeyReader({ read } as unknown as Database);
  await Promise.all(['a', 'b'].map((id) => reader.find(id)));
  expect(rows.mock.calls[0]?.[0]['batchSize']).toBeGreaterThan(2);
});
