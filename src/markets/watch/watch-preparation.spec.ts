import { expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { CachedScope } from '../cache/cached-scope.js';
import type { Unfit } from '../cache/make-scope.js';
import type { Scope } from '../scope.js';
import { FewWaits } from './few-waits.js';
import { WatchPreparation } from './watch-preparation.js';
import { WatchQuestion } from './watch-question.js';
import { Watch } from './watch.js';

const watch = new Watch(['eventId:a', 'eventId:b'], {});

/** Opens a watch of two scopes, which are in memory as of these times after so many loads. */
async function open({ loadsNeeded = 0, unfit = 'outdated' as Unfit, times = [1, 1] }) {
  let loads = 0;
  const asked: Timestamp[] = [];
  const load = async () => {
    loads += 1;
    return new Map([
      ['eventId:a', { count: 1, unfit: 'outdated' }],
      ['eventId:b', { count: 1, unfit }],
    ]);
  };
  const asOf = (key: Scope) => new Timestamp({ t: times[watch.scopes.indexOf(key)] ?? 0, i: 1 });
  const watched = {
    lease: () => undefined,
    get: (key: Scope) =>
      loads < loadsNeeded ? undefined : ({ length: 1, asOf: asOf(key) } as CachedScope),
    makeRoomFor: () => true,
  };
  const feed = { isCurrent: true, isBehind: (position: Timestamp) => asked.push(position) === 0 };
  const backfill = { waitUntilKnown: async () => undefined };
  const parts = [feed, { load }, watched, backfill] as unknown as ConstructorParameters<
    typeof WatchPreparation
  >;
  const question = new WatchQuestion(watch, undefined, performance.now());
  const problem = await new WatchPreparation(...parts).prepare(question);
  return { problem, loads, asked };
}

it('loads up to three times where changes make each load outdated, and uses the third', async () => {
  expect(await open({ loadsNeeded: 3 })).toMatchObject({ problem: undefined, loads: 3 });
  const { problem, loads } = await open({ loadsNeeded: 4 });
  expect([problem?.message, loads]).toEqual([expect.stringContaining('change faster'), 3]);
});

it('refuses nobody for the many who wait for a position ahead of the feed, but those who bring another', async () => {
  const isFull = jest.spyOn(FewWaits.prototype, 'isFull', 'get').mockReturnValue(true);
  expect(await open({})).toMatchObject({ problem: undefined });
  isFull.mockRestore();
});

it('loads once where one id of several cannot be streamed, and says so', async () => {
  const { problem, loads } = await open({ loadsNeeded: 4, unfit: 'unordered' });
  expect([problem?.message, loads]).toEqual([expect.stringContaining('cannot be streamed'), 1]);
});

it.each([
  [1, 2],
  [2, 1],
])('waits until the feed has told what the newest load has read: %i, %i', async (...times) => {
  const { asked } = await open({ times });
  expect(asked).toEqual([new Timestamp({ t: 2, i: 1 })]);
});
