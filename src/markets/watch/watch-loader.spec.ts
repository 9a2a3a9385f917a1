import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Problem } from '../../http/problem.js';
import type { ScopeLoader } from '../cache/scope-loader.js';
import { WatchLoader } from './watch-loader.js';
import { WatchedScope } from './watched-scope.js';
import type { WatchedScopes } from './watched-scopes.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

it('loads a scope once at a time, and again when that has failed', async () => {
  const load = jest.fn<ScopeLoader['load']>().mockReturnValue(new Promise(() => undefined));
  const failed = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Problem('database_timeout', 'MongoDB is too slow.')), 10_000);
  });
  load.mockReturnValueOnce(failed);
  const expire = jest.fn();
  const watched = { missing: [new WatchedScope('eventId:e')], expire };
  const loader = new WatchLoader({ load } as never, watched as unknown as WatchedScopes);

  await jest.advanceTimersByTimeAsync(9_000);
  expect(load).toHaveBeenCalledTimes(1);
  // Leases end meanwhile, too.
  expect(expire).toHaveBeenCalledTimes(36);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(load).toHaveBeenCalledTimes(2);
  loader.onApplicationShutdown();
});

it('loads a scope at once that is lost again, however often its last load had failed', async () => {
  const scope = new WatchedScope('eventId:e');
  const load = jest.fn(async () => {
    if (load.mock.calls.length < 6) throw new Problem('database_timeout', 'MongoDB is too slow.');
    scope.bytes = 1;
    return new Map();
  });
  const watched = {
    get missing() {
      return [scope].filter(({ bytes }) => bytes === 0);
    },
    expire: () => undefined,
  };
  const loader = new WatchLoader({ load } as never, watched as unknown as WatchedScopes);

  while (scope.bytes === 0) await jest.advanceTimersByTimeAsync(250);
  scope.bytes = 0;
  await jest.advanceTimersByTimeAsync(500);
  expect(load).toHaveBeenCalledTimes(7);
  loader.onApplicationShutdown();
});

it('tries a scope again every four seconds or sooner, however long MongoDB is away', async () => {
  const triedAt: number[] = [];
  const load = async () => {
    triedAt.push(performance.now());
    throw new Problem('database_unavailable', 'MongoDB is away.');
  };
  const watched = { missing: [new WatchedScope('eventId:e')], expire: () => undefined };
  const loader = new WatchLoader({ load } as never, watched as unknown as WatchedScopes);

  await jest.advanceTimersByTimeAsync(120_000);
  const pauses = triedAt.slice(1).map((at, index) => at - (triedAt[index] ?? 0));
  // A check comes every 250 ms.
  expect(Math.max(...pauses)).toBeLessThanOrEqual(4_250);
  expect(Math.min(...pauses.slice(10))).toBeGreaterThanOrEqual(4_000);
  loader.onApplicationShutdown();
});

it('loads a few scopes at a time, however many are missing', async () => {
  const scopes = Array.from({ length: 50 }, (_, index) => new WatchedScope(`eventId:e${index}`));
  let loading = 0;
  let most = 0;
  const load = jest.fn<ScopeLoader['load']>(async ([scope]) => {
    loading += 1;
    most = Math.max(most, loading);
    await new Promise((resolve) => setTimeout(resolve, 100));
    loading -= 1;
    for (const each of scopes) if (each.key === scope) each.bytes = 1;
    return new Map();
  });
  const watched = {
    get missing() {
      return scopes.filter(({ bytes }) => bytes === 0);
    },
    expire: () => undefined,
  };
  const loader = new WatchLoader({ load } as never, watched as unknown as WatchedScopes);

  await jest.advanceTimersByTimeAsync(2_000);
  expect([load.mock.calls.length, most]).toEqual([50, 8]);
  loader.onApplicationShutdown();
});

it.each([
  [2_000, 0],
  [2_001, 2],
])(
  'a scope of %i markets, loaded with one that is too large, ends %i streams',
  async (count, ended) => {
    const scope = new WatchedScope('eventId:e');
    const end = jest.fn();
    for (const markNew of [() => undefined, () => undefined]) scope.watchers.add({ markNew, end });
    const load = async () => new Map([['eventId:e', { count, unfit: 'too large' as const }]]);
    const watched = { missing: [scope], expire: () => undefined };
    const loader = new WatchLoader({ load } as never, watched as unknown as WatchedScopes);

    await jest.advanceTimersByTimeAsync(250);
    loader.onApplicationShutdown();
    expect(end).toHaveBeenCalledTimes(ended);
  },
);

it('a caller is not told why a load failed that another began: its own may succeed', async () => {
  const load = jest.fn<ScopeLoader['load']>(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    throw new Problem('overloaded', 'Too much.');
  });
  const watched = { missing: [], expire: () => undefined };
  const loader = new WatchLoader({ load } as never, watched as unknown as WatchedScopes);

  const other = loader.load(['eventId:large', 'eventId:e']).catch((error: Problem) => error.code);
  const own = loader.load(['eventId:e']);
  await jest.advanceTimersByTimeAsync(100);
  expect(await other).toBe('overloaded');
  expect(await own).toEqual(new Map([['eventId:e', undefined]]));
  loader.onApplicationShutdown();
});
