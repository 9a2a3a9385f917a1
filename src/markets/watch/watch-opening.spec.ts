import { expect, it } from '@jest/globals';
import type { Problem } from '../../http/problem.js';
import { NO_POSITION } from './cursor.js';
import { WatchOpening } from './watch-opening.js';
import { WatchQuestion } from './watch-question.js';
import { Watch } from './watch.js';

const watch = new Watch([{ eventId: 'e' }], {});

/** Opens a watch of a scope that is in memory only after so many loads. */
async function openAfter(loadsNeeded: number): Promise<[Problem['code'] | undefined, number]> {
  let loads = 0;
  const load = async () => {
    loads += 1;
    return new Map([['eventId:e', { count: 1, unfit: 'outdated' }]]);
  };
  const watched = {
    lease: () => undefined,
    get: () => (loads < loadsNeeded ? undefined : { length: 1, asOf: NO_POSITION }),
    makeRoomFor: () => true,
  };
  const feed = { isCurrent: true, isBehind: () => false };
  const backfill = { waitUntilKnown: async () => undefined };
  const parts = [feed, { load }, watched, backfill] as unknown as ConstructorParameters<
    typeof WatchOpening
  >;
  const question = new WatchQuestion(watch, undefined, performance.now());
  const problem = await new WatchOpening(...parts).open(question);
  return [problem?.code, loads];
}

it('loads up to three times where changes make each load outdated, and uses the third', async () => {
  expect(await openAfter(3)).toEqual([undefined, 3]);
  expect(await openAfter(4)).toEqual(['changes_unavailable', 3]);
});

it('a cursor without a position is not waited for: nothing goes on from it', () => {
  const cursor = { position: NO_POSITION, watchHash: watch.hash };
  const { since, afterClusterTime } = new WatchQuestion(watch, cursor, performance.now());
  expect([since, afterClusterTime]).toEqual([undefined, NO_POSITION]);
});
