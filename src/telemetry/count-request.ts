import type { Metrics } from './metrics.js';
import type { RequestOutcome } from './request-outcome.js';

const TOO_MANY_REQUESTS = 429;
const INTERNAL_ERROR = 500;

export function countRequest(metrics: Metrics, outcome: RequestOutcome): void {
  const { authFailure, code, durationMs, keyId, route, source, status } = outcome;
  const method = methodLabel(outcome.method);
  metrics.requests.observe({ method, route, status }, durationMs / 1000);
  if (source === 'memory') metrics.cacheHits.inc();
  if (source === 'database') metrics.cacheMisses.inc();
  if (authFailure) metrics.authFailures.inc({ reason: authFailure });
  if (code === 'overloaded') metrics.shed.inc();
  if (status === INTERNAL_ERROR) metrics.internalErrors.inc();
  if (status === TOO_MANY_REQUESTS) metrics.rateLimited.inc({ limit: keyId ? 'key' : 'address' });
}

/** Callers can make methods up. */
export function methodLabel(method: string): string {
  return method === 'GET' || method === 'HEAD' ? method : 'other';
}
