import type { Express } from 'express';
import type { Logger } from 'pino';
import type { OverloadListener } from '../http/http-server.js';
import { methodLabel } from './count-request.js';
import type { Metrics } from './metrics.js';
import { LogThrottle } from '../common/log-throttle.js';
import { UNKNOWN_ROUTE } from './request-outcome.js';

/** Refusals come by the thousand: one line tells of many. Milliseconds. */
const WARN_EVERY_MS = 1_000;

export type TemplateFinder = (url: string) => string;

/** Counts the requests that are refused because there is too much to do, and warns of them now and then. */
export function watchOverload(
  logger: Logger,
  metrics: Metrics,
  routeOf: TemplateFinder,
): OverloadListener {
  const refusals = new LogThrottle(WARN_EVERY_MS);
  return ({ method, requestId, startedAt, url }) => {
    const seconds = (performance.now() - startedAt) / 1000;
    metrics.requests.observe(
      { method: methodLabel(method), route: routeOf(url), status: 503 },
      seconds,
    );
    metrics.shed.inc();
    const count = refusals.count();
    if (count === undefined) return;
    logger.warn({ code: 'overloaded', count, requestId }, 'Requests are refused: too many wait');
  };
}

/** Finds the template of a path that begins like one, without the cost of routing it. */
export function templateFinder(app: Express): TemplateFinder {
  const templates = app.router.stack.flatMap(({ route }) => {
    const [start = '', parameter] = route?.path.split(':') ?? [];
    return route && parameter !== undefined ? [{ start, path: route.path }] : [];
  });
  return (url) => templates.find(({ start }) => url.startsWith(start))?.path ?? UNKNOWN_ROUTE;
}
