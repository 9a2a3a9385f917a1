import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import type { Moment } from '../common/moment.js';
import type { StoredApiKey } from './stored-api-key.js';
import type { KeyReader, KnownKey } from './key-reader.js';
import { KeyRecords } from './key-records.js';

const find = jest.fn<KeyReader['find']>();
let records: KeyRecords;

/** What a read finds that began so long after another one. */
function found(name: string, afterMs: number): KnownKey {
  const readAt: Moment = { monotonicMs: performance.now() + afterMs, wallMs: Date.now() + afterMs };
  return { record: { _id: 'id', name } as StoredApiKey, readAt };
}

beforeEach(() => {
  jest.useFakeTimers();
  records = new KeyRecords(
    { find } as unknown as KeyReader,
    { listen: () => undefined } as unknown as ChangeFeed,
  );
});

afterEach(() => {
  find.mockReset();
  jest.useRealTimers();
});

it('tells the newer record when an older one comes later, from a secondary for one', async () => {
  find.mockResolvedValueOnce(found('newer', 0)).mockResolvedValueOnce(found('older', -1_000));
  await records.read('id');
  expect((await records.read('id')).record?.name).toBe('newer');
  expect(records.recall('id')?.record?.name).toBe('newer');
});

it('forgets the record of a key that was deleted', async () => {
  const { readAt } = found('deleted', 10);
  find
    .mockResolvedValueOnce(found('deleted', 0))
    .mockResolvedValueOnce({ record: undefined, readAt });
  await records.read('id');
  await records.read('id');
  expect(records.recall('id')).toEqual({ record: undefined, readAt });
});

it('sets one timer, however often a record is asked for meanwhile', () => {
  for (let count = 0; count < 5; count += 1) records.readLater('id');
  expect(jest.getTimerCount()).toBe(1);
});

it('reads few of the ids that a limited client has made up', () => {
  find.mockReturnValue(new Promise(() => undefined));
  for (let number = 0; number < 5_000; number += 1) records.readLater(String(number));
  jest.runAllTimers();
  expect(find).toHaveBeenCalledTimes(2_000);
});

it('reads one in use, however many ids are waiting that were made up', async () => {
  find.mockResolvedValueOnce(found('used', 0));
  await records.read('id');
  find.mockReturnValue(new Promise(() => undefined));
  for (let number = 0; number < 5_000; number += 1) records.readLater(String(number));
  records.readLater('id');
  jest.runAllTimers();
  expect(find).toHaveBeenLastCalledWith('id');
});

it('reads a record in the background each time that it is due, however often', async () => {
  find.mockImplementation(async () => found('used', 0));
  for (let reads = 1; reads <= 3; reads += 1) {
    records.readLater('id');
    await jest.advanceTimersByTimeAsync(250);
    expect(find).toHaveBeenCalledTimes(reads);
  }
});

it('reads a record again after a failure, of which nobody hears who did not wait for it', async () => {
  find.mockRejectedValue(new Error('away'));
  records.readLater('id');
  await jest.advanceTimersByTimeAsync(250);
  await expect(records.read('id')).rejects.toThrow('away');
  find.mockResolvedValueOnce(found('there', 0));
  expect((await records.read('id')).record?.name).toBe('there');
});

it('knows nothing of an id once a key of it is made', async () => {
  find.mockResolvedValueOnce({ ...found('', 0), record: undefined });
  await records.read('id');
  records.invalidate('id', { _id: 'id' });
  expect(records.recall('id')).toBeUndefined();
});

it('forgets all when the collection is another, as after a restore', async () => {
  find
    .mockResolvedValueOnce(found('of before', 0))
    .mockResolvedValueOnce({ ...found('', 0), record: undefined });
  for (const id of ['id', 'absent']) await records.read(id);
  const clusterTime = new Timestamp({ t: 1, i: 1 });
  records.committed({ clusterTime, changes: [{ kind: 'collectionReplaced' }] });
  expect(['id', 'absent'].map((id) => records.recall(id))).toEqual([undefined, undefined]);
});

it('hears of a read that fails while its key changes, which would end the process', () => {
  find.mockReturnValue(new Promise(() => undefined));
  const then = jest.spyOn(records.read('id'), 'then');
  records.invalidate('id', undefined);
  expect(then).toHaveBeenCalledWith(expect.any(Function), expect.any(Function));
});
