import type { NextFunction, Response } from 'express';
import type { ApiRequest } from './api-request.js';
import { isProbe } from './probe-paths.js';
import { notFound } from './problem.js';

/** With a port for operators, probes and metrics are there alone, and everything else is on the other port alone. */
export function separateOperators(
  request: ApiRequest,
  _response: Response,
  next: NextFunction,
): void {
  if (isProbe(request.url) !== request.fromOperator) throw notFound();
  next();
}
