import type { NextFunction, Response } from 'express';
import type { ApiRequest } from '../api-request.js';
import { Problem } from '../problem.js';

export function overloaded(): Problem {
  return new Problem('overloaded', 'The service has too much to do. Please try again.');
}

/** Refuses a request of another origin's page, after the CORS middleware has set what lets the page see why. */
export function refuseOverload(request: ApiRequest, _response: Response, next: NextFunction): void {
  if (request.isRefused) throw overloaded();
  next();
}
