import type { Express, NextFunction, Request, Response } from 'express';
import { methodNotAllowed } from './http-server.js';
import { Problem } from './problem.js';

interface Layer {
  readonly route?: unknown;
  match(path: string): boolean;
}

/** Every route here is a read: other methods are refused before anything else is looked at, Express' own OPTIONS included. */
export function methodCheck(app: Express) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    if (request.method === 'GET' || request.method === 'HEAD') {
      next();
      return;
    }
    const layers = app.router.stack as unknown as Layer[];
    const known = layers.find((layer) => layer.route !== undefined && layer.match(request.path));
    // For log and metrics.
    request.route = known?.route;
    throw known ? methodNotAllowed() : new Problem('not_found', 'There is nothing at this path.');
  };
}
