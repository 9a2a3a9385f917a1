import type { Response } from 'express';
import type { Logger } from 'pino';
import { LogThrottle } from '../common/log-throttle.js';
import type { ApiRequest } from '../http/api-request.js';
import type { RequestObserver } from '../http/incoming-requests.js';
import { isProbe } from '../http/probe-paths.js';
import type { Problem } from '../http/problem.js';
import { STREAM_PATH } from '../http/routes.js';
import type { Metrics } from './metrics.js';
import { outcomeOf, refusalOf, type RequestOutcome } from './request-outcome.js';

/**
 * Counts and logs each request once. What clients do wrong is no error; what we fail at is logged where it is found,
 * and an outage warned of here.
 */
export class RequestLog implements RequestObserver {
  /** For what may be logged of each request in an outage. */
  private readonly throttles = {
    overloaded: new LogThrottle(),
    database_unavailable: new LogThrottle(),
    database_timeout: new LogThrottle(),
  };

  constructor(
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  closed(request: ApiRequest, response: Response): void {
    this.note(outcomeOf(request, response));
  }

  refused(requestId: string, problem: Problem): void {
    this.note(refusalOf(requestId, problem));
  }

  private note(outcome: RequestOutcome): void {
    this.count(outcome);
    const { code, requestId, route, status } = outcome;
    if (isShed(outcome)) {
      // Refusals come by the thousand: one line tells of many.
      this.warn({ code: 'overloaded', requestId }, 'Requests are refused as overloaded');
      return;
    }
    const ofProbe = isProbe(route);
    this.logger[ofProbe && status < 400 ? 'debug' : 'info'](outcome, 'request');
    if (!ofProbe && (code === 'database_unavailable' || code === 'database_timeout'))
      this.warn({ code }, 'Requests fail: MongoDB is away or too slow');
  }

  private warn(
    about: { code: keyof RequestLog['throttles']; requestId?: string },
    text: string,
  ): void {
    this.throttles[about.code].count((count) => this.logger.warn({ ...about, count }, text));
  }

  private count(outcome: RequestOutcome): void {
    const { authFailure, code, durationMs, endReason, keyId, route, source, status } = outcome;
    const { metrics } = this;
    // Callers can make methods up.
    const method = ['GET', 'HEAD'].includes(outcome.method) ? outcome.method : 'other';
    // A stream has no duration that would tell how fast requests are answered.
    if (endReason === undefined) {
      metrics.requests.observe({ method, route, status }, durationMs / 1000);
    }
    if (source === 'memory') metrics.cacheHits.inc();
    if (source === 'database') metrics.cacheMisses.inc();
    if (authFailure) metrics.authFailures.inc({ reason: authFailure });
    if (isShed(outcome)) metrics.shed.inc();
    if (code === 'internal_error') metrics.internalErrors.inc();
    if (code === 'rate_limited') metrics.rateLimited.inc({ limit: keyId ? 'key' : 'address' });
  }
}

/** Whether the service was too busy for it. A stream with a good key is nearly always refused for what is open. */
function isShed({ code, keyId, route }: RequestOutcome): boolean {
  return code === 'overloaded' && !(keyId && route === STREAM_PATH);
}
