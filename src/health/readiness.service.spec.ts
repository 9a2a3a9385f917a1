import { Logger } from '@nestjs/common';
import { afterEach, expect, it, jest } from '@jest/globals';
import type { Document } from 'mongodb';
import type { ChangeFeed } from '../change-feed/change-feed.js';
import { FRESH_FOR_MS } from '../change-feed/feed-progress.js';
import type { Database } from '../database/database.js';
import { overloaded } from '../http/problem.js';
import { ReadinessService } from './readiness.service.js';

afterEach(() => {
  jest.useRealTimers();
});

it('tells why a feed is late, and never an age within the bound', () => {
  const lateBecause = 'majority_lags';
  const status = { state: 'late', lateBecause, ageMs: FRESH_FOR_MS + 0.1 } as const;
  const feed = { status, listeners: { newestChangeOf: () => undefined } };
  const { changeFeed } = new ReadinessService(
    {} as Database,
    feed as unknown as ChangeFeed,
  ).state();
  expect(changeFeed).toMatchObject({ state: 'late', lateBecause });
  expect(changeFeed.ageSeconds).toBeGreaterThan(FRESH_FOR_MS / 1_000);
});

it('asks MongoDB once for all who ask in a short while, within 2 s, and anew after it', async () => {
  jest.useFakeTimers();
  const read = jest.fn<(budgetMs: number) => Promise<void>>().mockResolvedValue();
  const readiness = new ReadinessService(
    { read, topology: {} } as unknown as Database,
    {} as ChangeFeed,
  );
  const askTogether = () => Promise.all([1, 2, 3].map(() => readiness.check()));
  await askTogether();
  await askTogether();
  expect(read).toHaveBeenCalledTimes(1);
  expect(read.mock.calls[0]?.[0]).toBeLessThan(2_000);

  read.mockRejectedValue(new Error('MongoDB is away'));
  jest.advanceTimersByTime(250);
  await expect(readiness.check()).rejects.toMatchObject({ code: 'database_unavailable' });
  expect(read).toHaveBeenCalledTimes(2);
});

it('reads markets and keys: a user who may read only one of them can serve nobody', async () => {
  const asked: unknown[] = [];
  const command = async ({ find }: Document) => asked.push(find);
  const read = (_budgetMs: number, work: (attempt: object) => Promise<void>) => work({ command });
  const readiness = new ReadinessService(
    { read, topology: {} } as unknown as Database,
    {} as ChangeFeed,
  );
  await readiness.check();
  expect(asked).toEqual(['markets', 'api_keys']);
});

it('is ready while there is too much to do: the others would have its load, too', async () => {
  const database = {
    read: () => Promise.reject(overloaded()),
    topology: {},
  } as unknown as Database;
  const readiness = new ReadinessService(database, {} as ChangeFeed);
  await expect(readiness.check()).resolves.toBeUndefined();
});

it('tells no age below nothing, though the clock of MongoDB is ahead', () => {
  const listeners = { newestChangeOf: () => new Date(Date.now() + 5_000) };
  const feed = { status: { state: 'current', ageMs: 0 }, listeners } as unknown as ChangeFeed;
  const { newestChange } = new ReadinessService({} as Database, feed).state();
  expect(newestChange?.ageSeconds).toBe(0);
});

it('does not say that MongoDB answers no reads where it does not let us in: that is told elsewhere', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
  const database = {
    read: () => Promise.reject(new Error('Authentication failed.')),
    topology: { readable: true, hasAccess: false, summary: 'db' },
  } as unknown as Database;
  expect(await new ReadinessService(database, {} as ChangeFeed).canRead()).toBe(false);
  expect(warn).not.toHaveBeenCalled();
  jest.restoreAllMocks();
});

it('says that MongoDB answers again, though it was away altogether in between', async () => {
  jest.useFakeTimers();
  const said: unknown[] = [];
  for (const level of ['log', 'warn'] as const)
    jest.spyOn(Logger.prototype, level).mockImplementation((text) => void said.push(text));
  const topology = { readable: true, hasAccess: true, summary: 'db' };
  const read = jest.fn(() => Promise.reject(new Error('no answer')));
  const database = { read, topology } as unknown as Database;
  const readiness = new ReadinessService(database, {} as ChangeFeed);
  for (const readable of [true, false, true]) {
    topology.readable = readable;
    await readiness.canRead();
    jest.advanceTimersByTime(250);
  }
  read.mockResolvedValue(undefined as never);
  await readiness.canRead();
  jest.restoreAllMocks();
  expect(said).toEqual(['MongoDB answers no reads: db', 'MongoDB answers reads again']);
});
