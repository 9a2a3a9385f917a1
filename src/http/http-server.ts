import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { once } from 'node:events';
import { createServer, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiRequest } from './api-request.js';
import type { HttpLimits } from './http-limits.js';
import { messageClasses } from './message-classes.js';
import { Admission, type RequestListener } from './overload/admission.js';
import { sendOverloaded } from './overload/overloaded.js';
import { isProbe } from './probe-paths.js';
import { readyFiles } from './ready-files.js';
import { requestIdOf } from './request-context.js';
import { findRoute, routablePath } from './routes.js';
import { SocketRefusals, type RefusalListener } from './socket-refusal.js';
import { UnreadAnswers } from './unread-answers.js';

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

/** Told of each request once: for log and metrics. */
export interface RequestObserver {
  /** When its answer is sent, or its client has left. */
  closed(request: ApiRequest, response: Response): void;
  /** Of one that could not be read. */
  refused: RefusalListener;
}

export interface HttpServerOptions {
  readonly limits: HttpLimits;
  readonly observer: RequestObserver;
  /** Whether pages of other origins are told why they are refused, which takes more than the bare refusal. */
  readonly tellsOrigins: boolean;
}

/** Express on an HTTP server whose own refusals are problem details, too. */
export class HttpServerAdapter extends ExpressAdapter {
  /** Before the end, every answer closes its connection, those under way included. */
  keepsConnections = true;

  private readonly app: Express;
  private serve: RequestListener;
  private readonly admission: Admission;
  private readonly unread: UnreadAnswers;
  /** Requests on each connection that wait for the answer to an earlier one. */
  private readonly pipelined = new WeakMap<Socket, number>();
  private readonly serverOptions: ServerOptions;
  private operators: Server | undefined;

  constructor(private readonly given: HttpServerOptions) {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.enable('strict routing');
    app.enable('case sensitive routing');
    super(app);
    this.app = app;
    this.serve = app;
    this.unread = new UnreadAnswers(given.limits.unreadMs);
    const beforeHead = (response: ServerResponse) => {
      if (!this.keepsConnections) response.shouldKeepAlive = false;
      this.unread.watch(response);
    };
    this.serverOptions = { ...SERVER_OPTIONS, ...messageClasses(app, beforeHead) };
    this.admission = new Admission(
      given.limits,
      (...admitted) => this.serve(...admitted),
      (...refused) => this.refuse(...refused),
    );
  }

  override initHttpServer(): void {
    this.httpServer = this.createServer(false);
  }

  /** Always given a host and, by Nest, a callback. */
  override listen(port: string | number, ...[host, callback]: unknown[]): Server {
    const options = { port: Number(port), host: String(host), backlog: BACKLOG };
    return (this.httpServer as Server).listen(options, callback as () => void);
  }

  /** What comes before Express, which it is given as the last step. */
  serveBy(listener: (express: RequestListener) => RequestListener): void {
    this.serve = listener(this.app);
  }

  /** Opens a port on which nothing but probes and metrics are. */
  async listenForOperators(port: number, host: string): Promise<Server> {
    this.operators = this.createServer(true).listen(port, host);
    await once(this.operators, 'listening');
    return this.operators;
  }

  /** Read once: a file that is piped takes as long as its client wants. */
  override useStaticAssets(directory: string, { prefix }: { prefix: string }): this {
    readyFiles(this.app, directory, prefix);
    return this;
  }

  override async close(): Promise<void> {
    this.unread.end();
    this.operators?.close();
    this.operators?.closeAllConnections();
    await super.close();
  }

  private createServer(forOperators: boolean): Server {
    const server = createServer(this.serverOptions);
    // No count: Node drops the surplus without a word, and a second key could hide there. The size bounds it.
    server.maxHeadersCount = 0;
    const { observer } = this.given;
    const refusals = new SocketRefusals((...refusal) => observer.refused(...refusal));
    const receive = (request: ApiRequest, response: Response) => {
      request.fromOperator = forOperators;
      this.receive(request, response);
    };
    server.on('request', receive);
    server.on('checkExpectation', (request: ApiRequest, response: Response) => {
      request.hasUnmetExpectation = true;
      receive(request, response);
    });
    server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
      refusals.unreadable(code, socket);
    });
    server.on('connect', (_request, socket: Socket) => refusals.tunnel(socket));
    keepWhatIsRead(server);
    return server;
  }

  private receive(request: ApiRequest, response: Response): void {
    request.startedAt = performance.now();
    response.once('close', () => {
      this.unread.closed(response);
      if (request.requestId === undefined) this.identify(request);
      this.given.observer.closed(request, response);
    });
    // It has the socket for itself when there is no answer before it.
    if (!response.socket) this.receiveLater(request, response);
    else if (isProbe(request.url)) this.serve(request, response);
    else this.admission.admit(request, response);
  }

  /** Once what came before it on its connection is answered and read; of too many the connection is closed. */
  private receiveLater(request: ApiRequest, response: Response): void {
    const { socket } = request;
    const { pipelined } = this.given.limits;
    const count = (this.pipelined.get(socket) ?? 0) + 1;
    this.pipelined.set(socket, count);
    if (count <= pipelined) {
      response.once('socket', () => {
        this.pipelined.set(socket, (this.pipelined.get(socket) ?? 1) - 1);
        request.startedAt = performance.now();
        this.admission.admit(request, response);
      });
    } else if (count === pipelined + 1) {
      response.shouldKeepAlive = false;
      this.refuse(request, response);
    }
  }

  private refuse(request: ApiRequest, response: Response): void {
    if (this.given.tellsOrigins && request.headers.origin !== undefined) {
      request.isRefused = true;
      this.app(request, response);
      return;
    }
    this.identify(request);
    sendOverloaded(request, response);
  }

  /** What the log tells of a request that gets no further. */
  private identify(request: ApiRequest): void {
    request.route = findRoute(this.app, routablePath(request.url));
    request.requestId = requestIdOf(request);
  }
}

/** Node counts an answer as done when it is handed over, and would cut off clients that still read theirs. */
function keepWhatIsRead(server: Server): void {
  const sockets = new Set<Socket & { readonly _httpMessage?: ServerResponse | null }>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.closeIdleConnections = () => {
    for (const socket of sockets) if (!socket._httpMessage) socket.destroy();
  };
}
