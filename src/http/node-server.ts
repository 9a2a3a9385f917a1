import { createServer, type Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiRequest } from './api-request.js';
import { watchConnections } from './connections.js';
import type { HttpOptions } from './incoming-requests.js';
import type { RequestListener } from './overload/admission.js';
import { methodNotAllowed } from './problem.js';
import { SocketRefusals } from './socket-refusal.js';

/** Bounds on what a client may send, and how slowly: bytes and milliseconds. */
export const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  // Each time Node walks over all connections whose request is not complete: 0.5 ms for 5,000.
  connectionsCheckingInterval: 50,
  keepAliveTimeout: 65_000,
  // Node refuses without a body; the request context does it with one.
  requireHostHeader: false,
};

/** An HTTP server that answers what Node would refuse by itself with problem details, too. */
export function createNodeServer(
  messages: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>,
  { limits, observer }: HttpOptions,
  receive: RequestListener,
): Server {
  const server = createServer({ ...SERVER_OPTIONS, ...messages });
  // Above a count Node drops headers without an error, a second key among them. The size bounds them already.
  server.maxHeadersCount = 0;
  server.on('request', receive);
  server.on('checkExpectation', (request: ApiRequest, response: Parameters<RequestListener>[1]) => {
    request.hasUnmetExpectation = true;
    receive(request, response);
  });
  const refusals = new SocketRefusals(observer);
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    refusals.unreadable(code, socket);
  });
  server.on('connect', (_request, socket: Socket) => refusals.refuse(socket, methodNotAllowed()));
  watchConnections(server, limits.unreadMs);
  return server;
}
