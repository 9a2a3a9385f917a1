import { expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import type { Database } from '../database/database.js';
import { ReadAfterTime } from '../database/read-after-time.js';
import type { ReadAttempt } from '../database/read-attempt.js';
import { StoredPages } from './stored-pages.js';

it('asks a secondary for no snapshot: it may have writes that it does not know to be a majority’s', async () => {
  const topology = { hasSnapshots: true, readAfterTime: new ReadAfterTime() };
  const pages = new StoredPages({ topology } as unknown as Database);
  const asked: Document[] = [];
  const attempt = {
    isOfPrimary: false,
    rowsOfOneState: async (command: Document) => {
      asked.push(command);
      return [];
    },
    command: async (command: Document) => {
      asked.push(command);
      return { cursor: {} };
    },
    restOf: async () => [],
  } as unknown as ReadAttempt;
  await pages.read([{ match: { $match: {} }, query: { page: 1, take: 10 } }], attempt);
  expect(asked).toEqual([expect.not.objectContaining({ readConcern: { level: 'snapshot' } })]);
});
