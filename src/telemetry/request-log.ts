import type { NextFunction, Response } from 'express';
import type { Logger } from 'pino';
import type { ApiRequest } from '../common/api-request.js';

/** Any path that is no route of ours, in log and metrics. */
export const UNKNOWN_ROUTE = 'unknown';

/** The route's template: never what a caller wrote. */
export function routeOf(request: ApiRequest): string {
  return (request.route as { path?: string } | undefined)?.path ?? UNKNOWN_ROUTE;
}

/** Logs each request when its answer is done. Nothing that a caller wrote gets in, so neither can a key. */
export function requestLog(logger: Logger) {
  return (request: ApiRequest, response: Response, next: NextFunction): void => {
    response.once('close', () => {
      const aborted = !response.writableFinished;
      logger.info(
        {
          requestId: request.requestId,
          method: request.method,
          route: routeOf(request),
          status: response.statusCode,
          durationMs: Math.round((performance.now() - request.startedAt) * 100) / 100,
          ...(request.apiKey && { keyId: request.apiKey.id }),
          ...(request.authFailure && { authFailure: request.authFailure }),
          ...(request.served && request.served),
          ...(aborted && { aborted }),
        },
        'request',
      );
    });
    next();
  };
}
