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

it('is as short as it can be while nothing is served at all', () => {
  expect(new QueueLimit(HTTP_LIMITS).at(1_000, 500)).toBe(HTTP_LIMITS.queueMin);
});

it('never grows above its bound, however much is served', () => {
  const limit = new QueueLimit(HTTP_LIMITS);
  for (let served = 0; served < 10_000; served += 1) limit.countServed();
  expect(limit.at(1_000, 500)).toBe(HTTP_LIMITS.queueMax);
});

it('falls by no more than a fifth at a time, since refusing many takes time from serving', () => {
  const limit = new QueueLimit(HTTP_LIMITS);
  for (let served = 0; served < 1_000; served += 1) limit.countServed();
  const limits = [1_000, 1_400, 1_800].map((now) => limit.at(now, 500));
  expect(limits.map(Math.round)).toEqual([1_200, 960, 768]);
});
