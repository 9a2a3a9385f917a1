import { afterEach, expect, it, jest } from '@jest/globals';
import { LogThrottle } from './log-throttle.js';

afterEach(() => {
  jest.useRealTimers();
});

it('tells at once, then no sooner than the interval, with all that came in between', () => {
  jest.useFakeTimers();
  const failures = new LogThrottle();
  expect(failures.count()).toBe(1);
  jest.advanceTimersByTime(999);
  expect([failures.count(), failures.count()]).toEqual([undefined, undefined]);
  jest.advanceTimersByTime(1);
  expect(failures.count()).toBe(3);
  jest.advanceTimersByTime(60_000);
  expect(failures.count()).toBe(1);
});
