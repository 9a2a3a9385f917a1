import { expect, it, jest } from '@jest/globals';
import type { Config } from '../config.js';
import type { RequestCounter } from './request-counter.js';
import { RequestLimit } from './request-limit.js';

it('gives back no more than it took, though others take at the same time', async () => {
  // Four were taken here and the others by other replicas, which give them back themselves.
  const add = jest.fn<RequestCounter['add']>(async (_id, points = 1) => ({
    used: points > 0 ? 20 : 16,
    msLeft: 30_000,
  }));
  const limit = new RequestLimit({ add }, { rateLimitPerMinute: 3 } as Config);
  const request = { apiKey: { id: 'k', name: 'k' }, answerHeaders: {} };
  await limit.charge(request, 5);
  expect(add.mock.calls).toEqual([
    ['k', 4],
    ['k', -4],
  ]);
  expect(request.answerHeaders).toMatchObject({ RateLimit: '"default";r=0;t=30' });
});

it('gives nothing back at the end of a window: it would be more than the next one has', async () => {
  const add = jest.fn<RequestCounter['add']>(async () => ({ used: 4, msLeft: 400 }));
  const limit = new RequestLimit({ add }, { rateLimitPerMinute: 3 } as Config);
  const request = { apiKey: { id: 'k', name: 'k' }, answerHeaders: {} };
  await expect(limit.charge(request, 2)).rejects.toThrow('Too many requests');
  expect(add.mock.calls).toEqual([['k', 1]]);
});
