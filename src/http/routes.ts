import type { Request, RequestHandler } from 'express';
import { methodNotAllowed, notFound } from './problem.js';

/** HEAD is not allowed here: it stands for a whole answer, and a stream has no end. */
export const STREAM_PATH = '/v1/markets/stream';

interface Layer {
  readonly route?: { readonly path: string };
  match(path: string): boolean;
}

/** The route of a path, whatever the method; nothing for an unknown path. */
export function findRoute({ app }: Request, path: string): Layer['route'] {
  const layers = app.router.stack as unknown as Layer[];
  return layers.find((layer) => layer.route !== undefined && layer.match(path))?.route;
}

/** Has `cors` answer preflights of known paths alone: it would say 204 to those of unknown paths, too. */
export function answerPreflights(cors: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (request.method === 'OPTIONS' && findRoute(request, request.path))
      cors(request, response, next);
    else next();
  };
}

/** Refuses every method but GET and HEAD, before Express answers OPTIONS by itself. */
export function checkMethod(request: Request): void {
  const allowed = request.path === STREAM_PATH ? ['GET'] : ['GET', 'HEAD'];
  if (allowed.includes(request.method)) return;
  // For log and metrics.
  request.route = findRoute(request, request.path);
  throw request.route ? methodNotAllowed(allowed) : notFound();
}
