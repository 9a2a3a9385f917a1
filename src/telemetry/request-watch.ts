import type { NextFunction, Response } from 'express';
import type { Logger } from 'pino';
import type { ApiRequest } from '../http/api-request.js';
import { countRequest } from './count-request.js';
import type { Metrics } from './metrics.js';
import { LogThrottle } from '../common/log-throttle.js';
import { outcomeOf, type RequestOutcome } from './request-outcome.js';

/** What comes with every request while MongoDB is away is worth a warning this often. Milliseconds. */
const WARN_EVERY_MS = 1_000;

/** Routes that are asked all day long, and of interest only when they fail. */
const PROBES = new Set(['/health/live', '/health/ready', '/metrics']);

export type NoteRequest = (outcome: RequestOutcome) => void;

/**
 * Counts and logs requests. What clients do wrong is no error; what we fail at is logged where it is found,
 * and an outage warned of here.
 */
export function noteRequests(logger: Logger, metrics: Metrics): NoteRequest {
  const failures = new LogThrottle(WARN_EVERY_MS);
  return (outcome) => {
    countRequest(metrics, outcome);
    logger[isQuietProbe(outcome) ? 'debug' : 'info'](outcome, 'request');
    if (!isOutage(outcome)) return;
    const count = failures.count();
    if (count === undefined) return;
    logger.warn({ code: outcome.code, count }, 'Requests fail: MongoDB is away or too slow');
  };
}

/** Notes each request when its answer is done. */
export function watchRequests(note: NoteRequest) {
  return (request: ApiRequest, response: Response, next: NextFunction): void => {
    response.once('close', () => note(outcomeOf(request, response)));
    next();
  };
}

function isQuietProbe({ route, status }: RequestOutcome): boolean {
  return PROBES.has(route) && status < 400;
}

function isOutage({ route, status }: RequestOutcome): boolean {
  return status > 500 && !PROBES.has(route);
}
