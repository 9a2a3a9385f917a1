import type { Express, NextFunction, Request, Response } from 'express';
import { methodNotAllowed, notFound } from './problem.js';
import { findRoute } from './routes.js';

/** Every route here is a read: other methods are refused before anything else is looked at, Express' own OPTIONS included. */
export function methodCheck(app: Express) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    if (request.method === 'GET' || request.method === 'HEAD') {
      next();
      return;
    }
    // For log and metrics.
    request.route = findRoute(app, request.path);
    throw request.route ? methodNotAllowed() : notFound();
  };
}
