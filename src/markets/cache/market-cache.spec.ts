import { Logger } from '@nestjs/common';
import { expect, it, jest } from '@jest/globals';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import { Config } from '../../config.js';
import { Problem } from '../../http/problem.js';
import type { LiveScopes } from './live-scopes.js';
import { MarketCache } from './market-cache.js';
import type { ScopeLoader } from './scope-loader.js';

it('a load that fails for a fault of ours is told in the log; that MongoDB is away, elsewhere', async () => {
  const told = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  const bug = new TypeError('a bug');
  const load = jest.fn<ScopeLoader['load']>().mockRejectedValueOnce(bug);
  load.mockRejectedValue(new Problem('database_unavailable', 'MongoDB is away.'));
  const live = { addOwner: () => undefined, get: () => undefined } as unknown as LiveScopes;
  const feed = { isCurrent: true } as ChangeFeed;
  const cache = new MarketCache(live, { load } as unknown as ScopeLoader, feed, new Config());
  // It is loaded when it is asked for the third time, and each time after a failure.
  for (let asked = 0; asked < 4; asked += 1) {
    await cache.recallAfterLoad('eventId:e', { page: 1, take: 10 });
  }
  expect(load).toHaveBeenCalledTimes(2);
  expect(told.mock.calls).toEqual([[{ err: bug }, 'A scope could not be loaded']]);
  told.mockRestore();
});

it.each([
  ['outdated', 'loaded again', 2],
  ['too large', 'left to MongoDB', 1],
] as const)('a scope that is found %s is %s when it is asked for', async (unfit, _what, loads) => {
  const load = jest.fn<ScopeLoader['load']>();
  load.mockResolvedValue(new Map([['eventId:e', { count: 0, unfit }]]));
  const live = { addOwner: () => undefined, get: () => undefined } as unknown as LiveScopes;
  const feed = { isCurrent: true } as ChangeFeed;
  const cache = new MarketCache(live, { load } as unknown as ScopeLoader, feed, new Config());
  for (let asked = 0; asked < 4; asked += 1) {
    await cache.recallAfterLoad('eventId:e', { page: 1, take: 10 });
  }
  expect(load).toHaveBeenCalledTimes(loads);
});

it('a scope that its answers make larger than the whole cache is left to MongoDB', async () => {
  const scope = { key: 'eventId:e', bytes: 1_000_000, answer: () => (scope.bytes = 1_100_000) };
  let kept: unknown;
  const live = {
    addOwner: () => undefined,
    get: () => kept,
    add: (added: unknown) => (kept = added),
    release: () => (kept = undefined),
  } as unknown as LiveScopes;
  const load = jest.fn<ScopeLoader['load']>(async (_scopes, _bounds, keep) => {
    keep(scope as never);
    return new Map([['eventId:e', { count: 1, unfit: undefined }]]);
  });
  const feed = { isCurrent: true } as ChangeFeed;
  const config = { ...new Config(), cacheMaxMb: 1 };
  const cache = new MarketCache(live, { load } as unknown as ScopeLoader, feed, config);
  for (let asked = 0; asked < 5; asked += 1) {
    await cache.recallAfterLoad('eventId:e', { page: 1, take: 10 });
  }
  expect([load.mock.calls.length, kept]).toEqual([1, undefined]);
});

it.each([
  ['the feed is not current: memory would not answer', false, 'e', 1],
  ['an id is read alike as those whose UTF-8 is broken', true, 'e\ufffd', 1],
  ['there is to be no cache', true, 'e', 0],
])('loads nothing where %s', async (_why, isCurrent, eventId, cacheMaxMb) => {
  const load = jest.fn<ScopeLoader['load']>();
  const live = { addOwner: () => undefined } as unknown as LiveScopes;
  const feed = { isCurrent } as ChangeFeed;
  const config = { ...new Config(), cacheMaxMb };
  const cache = new MarketCache(live, { load } as unknown as ScopeLoader, feed, config);
  for (let asked = 0; asked < 4; asked += 1) {
    await cache.recallAfterLoad(`eventId:${eventId}`, { page: 1, take: 10 });
  }
  expect(load).not.toHaveBeenCalled();
});

it('loads four scopes at a time: for a fifth MongoDB is asked, one that is being loaded is waited for', async () => {
  const load = jest.fn<ScopeLoader['load']>(() => new Promise(() => undefined));
  const live = { addOwner: () => undefined, get: () => undefined } as unknown as LiveScopes;
  const feed = { isCurrent: true } as ChangeFeed;
  const cache = new MarketCache(live, { load } as unknown as ScopeLoader, feed, new Config());
  const ask = (id: number) => cache.recallAfterLoad(`eventId:${id}`, { page: 1, take: 10 });
  for (const id of [1, 2, 3, 4, 5]) await Promise.all([ask(id), ask(id)]);
  const waiting = [1, 2, 3, 4, 1].map((id) => ask(id).then(() => 'loaded'));
  expect(await ask(5)).toBeUndefined();
  expect(load.mock.calls.map(([scopes]) => scopes)).toEqual(
    [1, 2, 3, 4].map((id) => [`eventId:${id}`]),
  );
  expect(await Promise.race([...waiting, Promise.resolve('waiting')])).toBe('waiting');
});
