import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import type { Change, Commit } from '../change-feed/change.js';
import { Config } from '../config.js';
import type { Database } from '../database/database.js';
import { CollectionRepair } from './collection-repair.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

function repairBy(init: () => Promise<boolean>): CollectionRepair {
  const db = { listCollections: () => ({ hasNext: async () => true }) };
  const database = { init, db } as unknown as Database;
  const feed = { listen: () => undefined } as unknown as ChangeFeed;
  return new CollectionRepair(database, feed, new Config());
}

it('tries once to turn images on where it may not, and anew when the collection is another', async () => {
  const init = jest.fn(async () => false);
  const repair = repairBy(init);
  const tries: number[] = [];
  const altered: Change = { kind: 'altered', id: 1, fields: {} };
  for (const change of [altered, altered, altered, { kind: 'collectionReplaced' } as const]) {
    repair.committed({ clusterTime: new Timestamp(1n), changes: [change] });
    await jest.advanceTimersByTimeAsync(1_000);
    tries.push(init.mock.calls.length);
  }
  repair.onApplicationShutdown();
  expect(tries).toEqual([1, 1, 1, 2]);
});

it('looks again where the collection became another while it was repaired', async () => {
  const replaced = { clusterTime: new Timestamp(1n), changes: [{ kind: 'collectionReplaced' }] };
  const init = jest
    .fn(async () => true)
    .mockImplementationOnce(async () => {
      repair.committed(replaced as Commit);
      return true;
    });
  const repair = repairBy(init);
  repair.committed(replaced as Commit);
  await jest.advanceTimersByTimeAsync(5_000);
  repair.onApplicationShutdown();
  expect(init).toHaveBeenCalledTimes(2);
});

it('makes nothing where DB_INIT=false says so', () => {
  const listen = jest.fn();
  const feed = { listen } as unknown as ChangeFeed;
  const repair = new CollectionRepair({} as Database, feed, { ...new Config(), dbInit: false });
  repair.onApplicationShutdown();
  expect(listen).not.toHaveBeenCalled();
});
