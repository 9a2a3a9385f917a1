import type { Express } from 'express';
import { splitTarget } from './raw-query.js';

interface Layer {
  readonly route?: { readonly path: string };
  match(path: string): boolean;
}

/** The route of a path, whatever the method; nothing for an unknown path. */
export function findRoute(app: Express, path: string): Layer['route'] {
  const layers = app.router.stack as unknown as Layer[];
  return layers.find((layer) => layer.route !== undefined && layer.match(path))?.route;
}

/** Encodes `%` once more: Express then decodes to what was sent, and never fails on a broken encoding. */
export function routablePath(target: string): string {
  return splitTarget(target).path.replaceAll('%', '%25');
}
