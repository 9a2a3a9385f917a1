import { expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { collectGarbage } from '../../../test/collect-garbage.js';
import type { ChangeFeed } from '../../change-feed/change-feed.js';
import { Config } from '../../config.js';
import type { CachedMarket } from '../cache/cached-market.js';
import { CachedScope } from '../cache/cached-scope.js';
import { ChangeHistory } from '../cache/change-history.js';
import { LiveScopes } from '../cache/live-scopes.js';
import { Watch } from './watch.js';
import { WatchGroups } from './watch-groups.js';
import { WatchedScopes } from './watched-scopes.js';

const position = new Timestamp({ t: 1, i: 1 });

/** What watches keep, of a feed that has told everything up to `position`. */
function nothingWatched(config: Partial<Config> = {}) {
  const feed = { position, listen: () => undefined } as unknown as ChangeFeed;
  const live = new LiveScopes(feed, new ChangeHistory());
  return { live, watched: new WatchedScopes(live, { ...new Config(), ...config }) };
}

it('keeps no scope that nobody wants any more when it has been loaded', () => {
  const { live, watched } = nothingWatched();
  const [wanted, unwanted] = ['a', 'b'].map(
    (eventId) => new CachedScope(`eventId:${eventId}`, position, []),
  ) as [CachedScope, CachedScope];
  watched.lease([wanted.key]);
  for (const scope of [wanted, unwanted]) watched.keep(scope);
  expect([live.get(wanted.key), live.get(unwanted.key)]).toEqual([wanted, undefined]);
});

it('keeps for another minute what is asked for again', () => {
  const { watched } = nothingWatched();
  const scope = new CachedScope('eventId:a', position, []);
  const begun = performance.now();
  const now = jest.spyOn(performance, 'now');
  for (const afterMs of [0, 50_000]) {
    now.mockReturnValue(begun + afterMs);
    watched.lease([scope.key]);
    watched.keep(scope);
  }
  now.mockRestore();
  watched.expire(begun + 100_000);
  expect(watched.get(scope.key)).toBe(scope);
});

it('tells those who watch a scope when it is in memory again, for it may have grown meanwhile', () => {
  const { watched } = nothingWatched();
  const watcher = { markNew: jest.fn(), end: () => undefined };
  const watch = new Watch(['eventId:a'], {});
  watched.watch(watcher, watch);
  for (const scope of watch.scopes) watched.keep(new CachedScope(scope, position, []));
  expect(watcher.markNew).toHaveBeenCalledTimes(1);
});

it('is all there only once the feed has told what was read: else it would be of several states', () => {
  const [told, read] = [1, 2].map((seconds) => new Timestamp({ t: seconds, i: 1 }));
  const state = { position: told, listen: () => undefined };
  const feed = state as unknown as ChangeFeed;
  const history = new ChangeHistory();
  const watched = new WatchedScopes(new LiveScopes(feed, history), new Config());
  const groups = new WatchGroups(watched, feed, history);
  const watch = new Watch(['eventId:a'], {});
  watched.lease(watch.scopes);
  for (const scope of watch.scopes) watched.keep(new CachedScope(scope, read as Timestamp, []));
  expect(groups.hasAll(watch)).toBe(false);
  state.position = read;
  expect(groups.hasAll(watch)).toBe(true);
});

it.each([4, 256])(
  'weighs events without a market as what they take, with ids of %d characters',
  (length) => {
    const { watched } = nothingWatched();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let number = 0; number < 10_000; number += 1) {
      const eventId = Buffer.from(String(number).padStart(length, 'x')).toString();
      watched.lease([`eventId:${eventId}`]);
      watched.keep(new CachedScope(`eventId:${eventId}`, new Timestamp({ t: 1, i: number }), []));
    }
    watched.expire(0);
    collectGarbage();
    expect(watched.bytes).toBeGreaterThan(0.75 * (process.memoryUsage().heapUsed - before));
  },
);

it('makes room without looking at all that is watched', () => {
  const { live, watched } = nothingWatched({ watchMaxMb: 1 });
  const ask = (eventId: string) => {
    const watch = new Watch([`eventId:${eventId}`], {});
    watched.lease(watch.scopes);
    watched.keep(new CachedScope(`eventId:${eventId}`, position, []));
    const isHeld = watched.makeRoomFor(watch);
    watched.get(`eventId:${eventId}`)?.group('{}', () => Buffer.alloc(0));
    return isHeld;
  };
  for (let number = 0; number < 2_000; number += 1) ask(`e${number}`);
  watched.expire(0);
  ask('before');
  const looks = jest.spyOn(live, 'get');
  expect(ask('another')).toBe(true);
  expect(looks.mock.calls.length).toBeLessThan(50);
});

it('drops those answers first whose event was asked for the longest time ago', () => {
  const { watched } = nothingWatched({ watchMaxMb: 1 });
  const scopes = ['eventId:a', 'eventId:b'] as const;
  watched.lease(scopes);
  for (const scope of scopes) {
    const loaded = new CachedScope(scope, position, []);
    loaded.group('{}', () => Buffer.alloc(600 * 1024));
    watched.keep(loaded);
  }
  watched.lease(scopes.slice(0, 1));
  watched.expire(0);
  const kept = scopes.map((scope) => watched.get(scope)?.hasAnswers);
  expect(kept).toEqual([true, false]);
});

it('weighs nothing any more of what it has dropped, answers or not', () => {
  const { watched } = nothingWatched({ watchMaxMb: 1 });
  const keep = (eventId: string) => {
    const loaded = new CachedScope(`eventId:${eventId}`, position, []);
    loaded.group('{}', () => Buffer.alloc(600 * 1024));
    watched.lease([loaded.key]);
    watched.keep(loaded);
    return loaded;
  };
  keep('dropped');
  watched.expire(performance.now() + 61_000);
  const kept = ['a', 'b'].map(keep);
  watched.expire(0);
  expect(watched.bytes).toBe(kept.reduce((sum, { bytes }) => sum + bytes, 0));
});

it('lets a key that has half of the room watch nothing new, though beside something that it has', () => {
  const { watched } = nothingWatched({ watchMaxMb: 1 });
  const held = new Watch(['eventId:a'], {});
  const both = new Watch(['eventId:a', 'eventId:b'], {});
  watched.lease(both.scopes);
  for (const key of both.scopes) {
    const market = { key: '2m', bytes: 300 * 1024 } as CachedMarket;
    watched.keep(new CachedScope(key, position, [market]));
  }
  const isFair = (watch: Watch) => watched.isFair(watch, () => [held]);
  expect([held, both].map(isFair)).toEqual([true, false]);
});
