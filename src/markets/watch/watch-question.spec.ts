import { expect, it, jest } from '@jest/globals';
import { NO_POSITION } from './cursor.js';
import { WatchQuestion } from './watch-question.js';
import { Watch } from './watch.js';

const watch = new Watch(['eventId:e'], {});

it('a cursor without a position is not waited for: nothing goes on from it', () => {
  const cursor = { position: NO_POSITION, watchHash: watch.hash };
  const { since, afterClusterTime } = new WatchQuestion(watch, cursor, performance.now());
  expect([since, afterClusterTime]).toEqual([undefined, NO_POSITION]);
});

it('what is waited for ends so early that the answer is made in time, too', () => {
  jest.spyOn(performance, 'now').mockReturnValue(1_000);
  const { waitMs, readMs } = new WatchQuestion(watch, undefined, 0);
  jest.restoreAllMocks();
  expect(readMs - waitMs).toBeGreaterThan(200);
});

it('a read that begins late has less time, so that its answer is none the later', () => {
  const askedAt = performance.now() - 1_700;
  expect(new WatchQuestion(watch, undefined, askedAt).readMs).toBeLessThanOrEqual(100);
});
