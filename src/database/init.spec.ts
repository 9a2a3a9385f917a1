import { expect, it, jest } from '@jest/globals';
import { MongoServerError, type ErrorDescription } from 'mongodb';
import type { Connection } from 'mongoose';
import { initDatabase } from './init.js';

/** What becomes of a collection that can't be made. */
async function made(error: ErrorDescription) {
  const fail = () => Promise.reject(new MongoServerError(error));
  const listCollections = () => ({ toArray: fail });
  const db = { command: async () => ({ setName: 'rs' }), createCollection: fail, listCollections };
  const [item] = await initDatabase({ db, models: {} } as unknown as Connection);
  return item;
}

it.each([
  { message: 'available disk space is less than required', code: 14_031 },
  { message: 'WiredTiger: 28: No space left on device', code: 8 },
])('may be tried again where the disk is full, whoever finds that: $message', async (error) => {
  expect(await made(error)).toMatchObject({ ok: false, isPassing: true });
});

it('is not tried again where an operator has killed it', async () => {
  const killed = await made({ message: 'operation was interrupted', code: 11_601 });
  expect(killed).toEqual(expect.not.objectContaining({ isPassing: true }));
});

it('tells that it takes long, as where an index waits for a member that is away', async () => {
  jest.useFakeTimers();
  const say = jest.fn();
  const db = { listCollections: () => ({ toArray: () => new Promise(() => undefined) }) };
  void initDatabase({ db, models: {} } as unknown as Connection, say);
  jest.advanceTimersByTime(4_999);
  expect(say).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(say.mock.calls).toEqual([[expect.stringContaining('has taken 5 s so far')]]);
  jest.useRealTimers();
});
