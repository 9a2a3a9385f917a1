/** Exactly these paths are answered under overload too, since operators' programs ask them all the time. */
export const PROBE_PATHS = new Set(['/health/live', '/health/ready', '/metrics']);

/** @param target path and query, or a route */
export function isProbe(target: string): boolean {
  const end = target.indexOf('?');
  return PROBE_PATHS.has(end < 0 ? target : target.slice(0, end));
}
