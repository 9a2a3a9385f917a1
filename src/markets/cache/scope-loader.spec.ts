import { expect, it, jest } from '@jest/globals';
import { Timestamp, type Document } from 'mongodb';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import type { BoundedReads } from '../../database/bounded-reads.js';
import type { Database } from '../../database/database.js';
import type { ReadAttempt } from '../../database/read-attempt.js';
import type { Scope } from '../scope.js';
import { ScopeLoader } from './scope-loader.js';

const position = new Timestamp({ t: 1, i: 1 });

/** What becomes of scopes while MongoDB answers so, and which of them are kept. */
async function load(
  scopes: readonly Scope[],
  answer: (command: Document) => Document,
  whenKept: (loader: ScopeLoader) => void = () => undefined,
) {
  const attempt = {
    command: async (command: Document) => answer(command),
    killCursor: () => undefined,
    restOf: async ({ firstBatch }: Document, each: (document: Document) => unknown) =>
      firstBatch.map(each),
  };
  const read: BoundedReads['run'] = (_budgetMs, operation) =>
    operation(attempt as unknown as ReadAttempt);
  const feed = { position, listen: () => undefined, waitFor: async () => false };
  const loader = new ScopeLoader({ read } as unknown as Database, feed as unknown as ChangeFeed);
  const keep = jest.fn(() => whenKept(loader));
  const bounds = { budgetMs: 400, inOneReply: false };
  const loaded = await loader.load(scopes, bounds, keep);
  return { loaded: [...loaded.values()], keep };
}

it('keeps nothing of a missing collection while the feed may have to tell that it was dropped', async () => {
  const operationTime = new Timestamp({ t: 2, i: 1 });
  const { loaded, keep } = await load(['eventId:e'], () => ({
    cursor: { id: 0, firstBatch: [] },
    operationTime,
  }));
  expect(loaded).toEqual([{ count: 0, unfit: 'outdated' }]);
  expect(keep).not.toHaveBeenCalled();
});

it('keeps no scope of which markets may be missing, since another has too many', async () => {
  const { loaded, keep } = await load(['eventId:large', 'eventId:e'], ({ limit }) => {
    const firstBatch = Array.from({ length: limit }, (_, _id) => ({ _id, eventId: 'large' }));
    return { cursor: { id: 0, atClusterTime: position, firstBatch } };
  });
  expect(loaded.map(({ unfit }) => unfit)).toEqual(['too large', 'too large']);
  expect(keep).not.toHaveBeenCalled();
});

it('keeps no scope after a break of the feed, though it has kept one of the same read before', async () => {
  const { loaded, keep } = await load(
    ['eventId:one', 'eventId:two'],
    ({ readConcern }) => {
      // A secondary may not yet have what was told before the read, and is told never again.
      expect(readConcern).toEqual({ level: 'snapshot', afterClusterTime: position });
      return { cursor: { id: 0, atClusterTime: position, firstBatch: [] } };
    },
    (loader) => loader.forgetAll(),
  );
  expect(loaded.map(({ unfit }) => unfit)).toEqual([undefined, 'outdated']);
  expect(keep).toHaveBeenCalledTimes(1);
});

it('lets others have a turn between two scopes, each of which may be large', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const keptAt: number[] = [];
  const cursor = { id: 0, firstBatch: [], atClusterTime: position };
  await load(
    ['eventId:a', 'eventId:b', 'eventId:c'],
    () => ({ cursor }),
    () => void keptAt.push(turns),
  );
  clearImmediate(timer);
  expect(new Set(keptAt).size).toBe(3);
});
