import type { ServerOptions } from 'node:http';

/** Bounds on what a client may send, and how slowly: bytes and milliseconds. */
export const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  // Each time Node walks over all connections whose request is not complete: 0.5 ms for 5,000.
  connectionsCheckingInterval: 50,
  keepAliveTimeout: 65_000,
  // Node refuses without a body; `checkProtocol` does it with one.
  requireHostHeader: false,
};

/** Bounds under load: what can't be served soon is refused at once. Times in milliseconds. */
export const HTTP_LIMITS = {
  /** Requests in flight at a time. More would mostly wait for one of the connections to MongoDB, which are fewer. */
  inFlight: 48,
  /** Requests that may always wait, however slow the service is. */
  queueMin: 64,
  /** The most requests that may wait; all of these may, until it is known how many are served in time. */
  queueMax: 5_000,
  /** The queue holds no more requests than are served within this time. */
  servedWithinMs: 1_200,
  /** A request that has waited so long is refused: reading its key may take 0.5 s, and two seconds are promised. */
  longestWaitMs: 1_400,
  /** Requests that may wait on one connection for the answer to an earlier one. */
  pipelined: 32,
  /** A client that has read nothing of its answer for so long is cut off. */
  unreadMs: 15_000,
};

export type HttpLimits = Readonly<typeof HTTP_LIMITS>;
