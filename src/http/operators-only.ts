import type { NextFunction, Response } from 'express';
import type { ApiRequest } from './api-request.js';
import { isProbe } from './probe-paths.js';
import { notFound } from './problem.js';

/** Where operators have a port of their own, probes and metrics are there and nowhere else, and nothing else is there. */
export function separateOperators(
  request: ApiRequest,
  _response: Response,
  next: NextFunction,
): void {
  if (isProbe(request.url) !== request.fromOperator) throw notFound();
  next();
}
