import { expect, it } from '@jest/globals';
import { HTTP_LIMITS } from '../http-limits.js';
import { QueueLimit } from './queue-limit.js';

it('is short while little is served in time, and forgets that once nobody waits', () => {
  const { queueMin, queueMax } = HTTP_LIMITS;
  const limit = new QueueLimit(HTTP_LIMITS);
  expect(limit.at(0, 0)).toBe(queueMax);
  limit.countServed();
  expect(limit.at(1_000, 500)).toBe(queueMin);
  expect(limit.at(1_010, 0)).toBe(queueMax);
});

it('never grows above its bound, however much is served', () => {
  const limit = new QueueLimit(HTTP_LIMITS);
  for (let served = 0; served < 10_000; served += 1) limit.countServed();
  expect(limit.at(1_000, 500)).toBe(HTTP_LIMITS.queueMax);
});
