import { describe, expect, it } from '@jest/globals';
import { rateLimited, rateLimitHeaders } from './rate-limited.js';

const fresh = { policy: 'default', limit: 600, used: 1, msLeft: 60_000 };

describe('the headers of a limit', () => {
  it('tell the policy and what is left', () => {
    expect(rateLimitHeaders(fresh)).toEqual({
      'RateLimit-Policy': '"default";q=600;w=60',
      RateLimit: '"default";r=599;t=60',
    });
  });

  it.each([
    [600, 1, '"default";r=0;t=1'],
    [601, 0, '"default";r=0;t=1'],
    [9_999, 59_000.001, '"default";r=0;t=60'],
    [300, 30_000, '"default";r=300;t=30'],
  ])('after %p with %p ms to go are %s', (used, msLeft, expected) => {
    expect(rateLimitHeaders({ ...fresh, used, msLeft })).toMatchObject({ RateLimit: expected });
  });
});

it('a refusal tells when to come back, never too early', () => {
  const problem = rateLimited('Too many.', { ...fresh, used: 601, msLeft: 12_000.2 });
  expect(problem.getStatus()).toBe(429);
  expect(problem.headers).toEqual({
    'RateLimit-Policy': '"default";q=600;w=60',
    RateLimit: '"default";r=0;t=13',
    'Retry-After': '13',
  });
});
