import { expect, it } from '@jest/globals';
import { LogThrottle } from './log-throttle.js';

it('tells at once, then no sooner than the interval, with all that came in between', () => {
  let now = 5_000;
  const failures = new LogThrottle(1_000, { now: () => now });
  expect(failures.count()).toBe(1);
  now += 999;
  expect([failures.count(), failures.count()]).toEqual([undefined, undefined]);
  now += 1;
  expect(failures.count()).toBe(3);
  now += 60_000;
  expect(failures.count()).toBe(1);
});
