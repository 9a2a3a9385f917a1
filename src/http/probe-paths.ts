import type { ApiRequest } from './api-request.js';
import { notFound } from './problem.js';
import { pathOf } from './raw-query.js';

/** Exactly these paths pass by the queue, unless pipelined: operators' programs ask them under overload, too. */
export const PROBE_PATHS = new Set(['/health/live', '/health/ready', '/metrics']);

/** @param target path and query, or a route */
export function isProbe(target: string): boolean {
  return PROBE_PATHS.has(pathOf(target));
}

/** Where there is an admin port, probes and metrics are on that port alone, and all else is on the other alone. */
export function checkPort({ path, onAdminPort }: ApiRequest): void {
  if (PROBE_PATHS.has(path) !== onAdminPort) throw notFound();
}
