import type { NextFunction, Request, Response } from 'express';
import { methodNotAllowed, notFound } from './problem.js';

/** A stream has no end that a HEAD request could stand for. */
const GET_ONLY = '/v1/markets/stream';

interface Layer {
  readonly route?: { readonly path: string };
  match(path: string): boolean;
}

/** The route of a path, whatever the method; nothing for an unknown path. */
export function findRoute({ app }: Request, path: string): Layer['route'] {
  const layers = app.router.stack as unknown as Layer[];
  return layers.find((layer) => layer.route !== undefined && layer.match(path))?.route;
}

/** 404 for a preflight of an unknown path, which the CORS middleware would answer with 204. */
export function preflightCheck(request: Request, _response: Response, next: NextFunction): void {
  if (request.method === 'OPTIONS' && !findRoute(request, request.path)) throw notFound();
  next();
}

/** Refuses every method but GET and HEAD, before Express answers OPTIONS by itself. */
export function methodCheck(request: Request, _response: Response, next: NextFunction): void {
  const isGetOnly = request.path === GET_ONLY;
  if (request.method === 'GET' || (request.method === 'HEAD' && !isGetOnly)) {
    next();
    return;
  }
  // For log and metrics.
  request.route = findRoute(request, request.path);
  if (!request.route) throw notFound();
  throw isGetOnly ? methodNotAllowed(['GET']) : methodNotAllowed();
}
