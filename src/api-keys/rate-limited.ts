import { Problem } from '../http/problem.js';
import { WINDOW_SECONDS, type Added } from './window-counter.js';

/** How far a limit is used up: what the `RateLimit` headers tell (IETF draft-ietf-httpapi-ratelimit-headers). */
interface RateLimitState extends Pick<Added, 'used' | 'msLeft'> {
  readonly policy: string;
  readonly limit: number;
}

export function rateLimitHeaders(state: RateLimitState): Record<string, string> {
  const { policy, limit, used } = state;
  return {
    'RateLimit-Policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    RateLimit: `"${policy}";r=${Math.max(limit - used, 0)};t=${secondsLeft(state)}`,
  };
}

/** The refusal of a request over its limit. `Retry-After` says when a request passes again. */
export function rateLimited(detail: string, state: RateLimitState): Problem {
  return new Problem('rate_limited', detail, {
    headers: { ...rateLimitHeaders(state), 'Retry-After': String(secondsLeft(state)) },
  });
}

function secondsLeft({ msLeft }: RateLimitState): number {
  return Math.max(Math.ceil(msLeft / 1000), 1);
}
