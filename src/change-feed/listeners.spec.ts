import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { Listeners } from './listeners.js';

const clusterTime = new Timestamp({ t: 1, i: 1 });

it('knows when the newest change was made, though that was too large to be held', () => {
  const listeners = new Listeners();
  listeners.add('markets', {});
  const wallTime = new Date(7);
  const last = { _id: { _data: '' }, operationType: 'delete', clusterTime, wallTime };
  listeners.tell({ events: undefined, last });
  expect(listeners.newestChangeOf('markets')).toBe(wallTime);
});

it.each([
  [-1_000, 1_000],
  // The clock of MongoDB is ahead.
  [60_000, 0],
])('tells the lag of a change made %i ms from now as at least %i ms', (fromNow, lagMs) => {
  const listeners = new Listeners();
  const event = {
    _id: { _data: '' },
    operationType: 'delete',
    clusterTime,
    wallTime: new Date(Date.now() + fromNow),
  } as const;
  listeners.tell({ events: [event], last: event });
  expect(listeners.lagMs).toBeGreaterThanOrEqual(lagMs);
  expect(listeners.lagMs).toBeLessThan(lagMs + 1_000);
});
