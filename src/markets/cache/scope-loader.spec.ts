import { expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import type { BoundedReads } from '../../database/bounded-reads.js';
import type { Database } from '../../database/database.js';
import type { ReadAttempt } from '../../database/read-attempt.js';
import { ScopeLoader } from './scope-loader.js';

it('keeps nothing of a missing collection while the feed may have to tell that it was dropped', async () => {
  const [position, operationTime] = [new Timestamp({ t: 1, i: 1 }), new Timestamp({ t: 2, i: 1 })];
  const attempt = {
    command: async () => ({ cursor: { id: 0, firstBatch: [] }, operationTime }),
    killCursor: () => undefined,
  };
  const read: BoundedReads['run'] = (_budgetMs, operation) =>
    operation(attempt as unknown as ReadAttempt);
  const feed = { position, listen: () => undefined, waitFor: async () => false };
  const loader = new ScopeLoader({ read } as unknown as Database, feed as unknown as ChangeFeed);
  const keep = jest.fn();
  const bounds = { budgetMs: 400, inOneReply: true };
  const loaded = await loader.load([{ eventId: 'e' }], bounds, keep);
  expect([...loaded.values()]).toEqual([{ count: 0, unfit: 'outdated' }]);
  expect(keep).not.toHaveBeenCalled();
});
