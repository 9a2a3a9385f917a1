import { afterEach, expect, it, jest } from '@jest/globals';
import { LogThrottle } from './log-throttle.js';

afterEach(() => {
  jest.useRealTimers();
});

it('tells at once, then what came in each second when that is over, by the last of it', () => {
  jest.useFakeTimers();
  const told: string[] = [];
  const failures = new LogThrottle();
  const fail = (what: string) => failures.count((count) => told.push(`${count} ${what}`));
  fail('first');
  expect(told).toEqual(['1 first']);
  jest.advanceTimersByTime(999);
  fail('second');
  fail('third');
  expect(told).toHaveLength(1);
  jest.advanceTimersByTime(1);
  expect(told.slice(1)).toEqual(['2 third']);
  jest.advanceTimersByTime(60_000);
  expect(told).toHaveLength(2);
  fail('fourth');
  expect(told.slice(2)).toEqual(['1 fourth']);
});
