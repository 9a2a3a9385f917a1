import { Problem } from '../http/problem.js';

/** How far a limit is used up: what the `RateLimit` headers tell (IETF draft-ietf-httpapi-ratelimit-headers). */
export interface RateLimitState {
  readonly policy: string;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly used: number;
  readonly msLeft: number;
}

export function rateLimitHeaders(state: RateLimitState): Record<string, string> {
  const { policy, limit, windowSeconds, used } = state;
  return {
    'RateLimit-Policy': `"${policy}";q=${limit};w=${windowSeconds}`,
    RateLimit: `"${policy}";r=${Math.max(limit - used, 0)};t=${secondsLeft(state)}`,
  };
}

/** Refuses a request for the rate: after `Retry-After` one passes. */
export function rateLimited(detail: string, state: RateLimitState): Problem {
  return new Problem('rate_limited', detail, {
    headers: { ...rateLimitHeaders(state), 'Retry-After': String(secondsLeft(state)) },
  });
}

function secondsLeft({ msLeft }: RateLimitState): number {
  return Math.max(Math.ceil(msLeft / 1000), 1);
}
