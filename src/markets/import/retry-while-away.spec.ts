import { expect, it, jest } from '@jest/globals';
import {
  MongoBulkWriteError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  type MongoClient,
  type BulkWriteResult,
  type TopologyDescription,
} from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { retryWhileAway } from './retry-while-away.js';
import type { ImportProgress } from './import-progress.js';

const client = { connect: async () => undefined } as unknown as MongoClient;
const said: string[] = [];
const progress = {
  say: async (message: string) => {
    said.push(message);
  },
} as ImportProgress;

function bulkWriteError(code: number | undefined): MongoBulkWriteError {
  const error = { message: 'refused or cut', code: code as number, writeErrors: [] };
  return new MongoBulkWriteError(error, {} as BulkWriteResult);
}

it.each([
  ['the network has cut', undefined],
  ['an operator has killed', 11_601],
])('writes again what %s, and says once that it waits', async (_what, code) => {
  said.length = 0;
  const work = jest.fn<() => Promise<string>>().mockResolvedValue('written');
  for (let cuts = 0; cuts < 2; cuts += 1) work.mockRejectedValueOnce(bulkWriteError(code));
  const { signal } = new AbortController();
  await expect(retryWhileAway(work, client, signal, progress)).resolves.toBe('written');
  expect(said).toEqual(['Waiting for MongoDB: refused or cut']);
});

it('writes again what MongoDB could not do now, and says can be done later, as a mongos without connections', async () => {
  const message = 'Couldn’t get a connection within the time limit';
  const later = new MongoServerError({
    message,
    code: 202,
    errorLabels: ['RetryableWriteError'],
  });
  const work = jest.fn<() => Promise<string>>().mockResolvedValue('written');
  const { signal } = new AbortController();
  await expect(
    retryWhileAway(work.mockRejectedValueOnce(later), client, signal, progress),
  ).resolves.toBe('written');
});

it('does not write again what MongoDB refuses', async () => {
  const refused = bulkWriteError(13);
  const { signal } = new AbortController();
  const work = () => Promise.reject(refused);
  await expect(retryWhileAway(work, client, signal, progress)).rejects.toBe(refused);
});

it('goes on for two seconds after the signal, and gives up then', async () => {
  const stop = new AbortController();
  const away = new MongoNetworkError('away');
  let tries = 0;
  const work = async () => {
    tries += 1;
    stop.abort();
    throw away;
  };
  const began = performance.now();
  const done = retryWhileAway(work, client, stop.signal, progress);
  await expect(Promise.race([done, delay(4_000)])).rejects.toBe(away);
  expect(performance.now() - began).toBeGreaterThan(1_999);
  // With a pause in between.
  expect(tries).toBeLessThanOrEqual(10);
});

it('closes a client that finds no server, which may have forgotten that of its URI, and no other', async () => {
  const close = jest.fn(async () => undefined);
  const forgetful = { ...client, close } as unknown as MongoClient;
  const work = jest
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new MongoServerSelectionError('timed out', {} as TopologyDescription))
    .mockRejectedValueOnce(new MongoNetworkError('cut'))
    .mockResolvedValue('written');
  const { signal } = new AbortController();
  await expect(retryWhileAway(work, forgetful, signal, progress)).resolves.toBe('written');
  expect(close).toHaveBeenCalledTimes(1);
});

it('connects again where a name server was silent, and gives up where MongoDB refuses it', async () => {
  const refused = new MongoServerError({ message: 'Authentication failed.', code: 18 });
  const connect = jest
    .fn<() => Promise<MongoClient>>()
    .mockRejectedValueOnce(new Error('querySrv ETIMEOUT _mongodb._tcp.example.com'))
    .mockResolvedValueOnce(client)
    .mockRejectedValueOnce(refused);
  const work = jest
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new MongoNotConnectedError('Client must be connected'))
    .mockResolvedValue('written');
  const again = { connect } as unknown as MongoClient;
  const { signal } = new AbortController();
  await expect(retryWhileAway(work, again, signal, progress)).resolves.toBe('written');
  await expect(retryWhileAway(work, again, signal, progress)).rejects.toBe(refused);
});
