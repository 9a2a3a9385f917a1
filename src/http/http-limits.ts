/** Bounds under load: what can't be served soon is refused at once. Times in milliseconds. */
export interface HttpLimits {
  /** Requests in flight at a time. More would only wait for one of MongoDB's connections, of which there are fewer. */
  readonly inFlight: number;
  /** Requests that may wait besides, however slow the service is. */
  readonly queueMin: number;
  /** Requests that may wait before it is known how many are served in time. */
  readonly queueMax: number;
  /** The queue grows no longer than is served within this time. */
  readonly servedWithinMs: number;
  /** A request that has waited so long is refused: with the longest read after it, it would take 2.5 seconds. */
  readonly longestWaitMs: number;
  /** Requests that may wait on one connection for the answer to an earlier one. */
  readonly pipelined: number;
  /** A client that has read nothing of its answer for so long is cut off. */
  readonly unreadMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  inFlight: 48,
  queueMin: 64,
  queueMax: 5_000,
  servedWithinMs: 1_400,
  longestWaitMs: 1_600,
  pipelined: 32,
  unreadMs: 15_000,
};
