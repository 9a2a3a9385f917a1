import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import {
  createServer,
  IncomingMessage,
  ServerResponse,
  type Server,
  type ServerOptions,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { Admission, type RequestListener } from './overload/admission.js';
import type { ApiRequest } from './api-request.js';
import { sendOverloaded } from './overload/overloaded.js';
import { InPortions } from './overload/in-portions.js';
import { Problem } from './problem.js';
import { requestIdOf } from './request-context.js';
import { refuseOnSocket, TIMED_OUT, unreadable, type RefusalListener } from './socket-refusal.js';

/** Bounds on what a client may send, and how slowly: bytes and milliseconds. */
export const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  // Each time Node walks over all connections that owe a request: 0.5 ms for 5,000.
  connectionsCheckingInterval: 50,
  keepAliveTimeout: 65_000,
  // Node refuses without a body; the request context does it with one.
  requireHostHeader: false,
};

/** Connections that the system may hold until we take them: of more it drops, their clients try again after a second. */
const BACKLOG = 4_096;

/** Told of each request that was refused because there is too much to do. */
export type OverloadListener = (request: ApiRequest) => void;

/** Express on an HTTP server whose own refusals are problem details, too. */
export class HttpServerAdapter extends ExpressAdapter {
  /** For log and metrics. */
  onRefusal: RefusalListener = () => undefined;
  onOverload: OverloadListener = () => undefined;
  /** Told of each request whose client left before its turn. */
  onLeft: RequestListener = () => undefined;

  /** How long a client may take to read an answer that does not fit the system's buffers. Milliseconds. */
  readWithinMs = 15_000;

  /** Whether pages of other origins are told why they are refused, which takes more than the bare refusal. */
  tellsOrigins = false;

  /** Before the end, every answer closes its connection, those under way included. */
  keepsConnections = true;

  constructor() {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.enable('strict routing');
    app.enable('case sensitive routing');
    super(app);
  }

  override initHttpServer(): void {
    const tell: RefusalListener = (...refusal) => this.onRefusal(...refusal);
    const app: Express = this.getInstance();
    const admission = new Admission(
      app,
      (request, response) => this.refuse(request, response),
      (request, response) => this.noteLeft(request, response),
    );
    const server = createServer({ ...SERVER_OPTIONS, ...this.messageClasses(app) });
    server.on('connection', () => admission.connected());
    server.on('request', (request: ApiRequest, response: Response) => {
      admission.enter(request, response);
    });
    // No count: Node drops the surplus without a word, and a second key could hide there. The size bounds it.
    server.maxHeadersCount = 0;
    // Those who came together are late together.
    const late = new InPortions<Duplex>((socket) => refuseOnSocket(socket, TIMED_OUT, tell));
    server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT') late.add(socket);
      else refuseOnSocket(socket, unreadable(code), tell);
    });
    server.on('connect', (_request, socket) => {
      refuseOnSocket(socket, methodNotAllowed(), tell);
    });
    server.on('checkExpectation', (request: ApiRequest, response: Response) => {
      request.hasUnmetExpectation = true;
      app(request, response);
    });
    this.httpServer = server;
  }

  /** Always given a host and, by Nest, a callback. */
  override listen(port: string | number, ...[host, callback]: unknown[]): Server {
    const options = { port: Number(port), host: String(host), backlog: BACKLOG };
    return (this.httpServer as Server).listen(options, callback as () => void);
  }

  /**
   * Express gives each request and response another prototype as it arrives. V8 then gives up its optimisations
   * for these objects, which doubles the cost of a whole answer (329 µs became 154 µs). Made of these classes, they have
   * the right prototype from the start. `ended` is told when the answer is complete, sent or not.
   */
  private messageClasses(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
    const unread = (response: ServerResponse) => cutIfUnread(response, this.readWithinMs);
    const keepsConnections = () => this.keepsConnections;
    class ExpressRequest extends IncomingMessage {}
    class ExpressResponse extends ServerResponse {
      override writeHead(...args: unknown[]): this {
        if (!keepsConnections()) this.shouldKeepAlive = false;
        return super.writeHead(...(args as [number]));
      }
      override end(...args: unknown[]): this {
        super.end(...(args as []));
        // Without a socket yet, it waits until an earlier answer is read.
        if (!this.socket || this.socket.writableLength > 0) unread(this);
        this.emit('ended');
        return this;
      }
    }
    Object.setPrototypeOf(ExpressRequest.prototype, app.request);
    Object.setPrototypeOf(ExpressResponse.prototype, app.response);
    Object.assign(app, { request: ExpressRequest.prototype, response: ExpressResponse.prototype });
    return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse } as object;
  }

  private refuse(request: ApiRequest, response: Response): void {
    if (this.tellsOrigins && request.headers.origin !== undefined) {
      request.isRefused = true;
      const app: Express = this.getInstance();
      app(request, response);
      return;
    }
    sendOverloaded(request, response);
    this.onOverload(request);
  }

  private noteLeft(request: ApiRequest, response: Response): void {
    request.requestId = requestIdOf(request);
    this.onLeft(request, response);
  }
}

/** Who does not read what was asked for holds memory: not for long. */
function cutIfUnread(response: ServerResponse, withinMs: number): void {
  const timer = setTimeout(() => response.req.socket.destroy(), withinMs).unref();
  response.once('close', () => clearTimeout(timer));
}

export function methodNotAllowed(): Problem {
  return new Problem('method_not_allowed', 'Only GET and HEAD are offered here.', {
    headers: { Allow: 'GET, HEAD' },
  });
}
