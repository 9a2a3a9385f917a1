import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Response } from 'express';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { ApiRequest } from './api-request.js';
import { watchConnections } from './connections.js';
import { SERVER_OPTIONS } from './http-limits.js';
import { IncomingRequests, type HttpOptions } from './incoming-requests.js';
import { messageClasses } from './message-classes.js';
import { methodNotAllowed } from './problem.js';
import { serveStaticFile } from './static-file.js';
import { SocketRefusals } from './socket-refusal.js';

/** New connections that the system queues for us; beyond that it drops them, and clients try again after a second. */
const BACKLOG = 4_096;

/** The files that Swagger UI loads; source maps and the like are not served. */
const SWAGGER_FILE = /^(?:swagger-ui(?:-bundle|-standalone-preset)?\.(?:js|css)|favicon-.*\.png)$/;

/** Express for Nest, on HTTP servers with a bounded queue, which cut off clients that do not read. */
export class HttpServerAdapter extends ExpressAdapter {
  /** Set to false when shutting down: each answer then closes its connection, unless requests wait on it for theirs. */
  keepsConnections = true;

  readonly incoming: IncomingRequests;
  private readonly messages: ReturnType<typeof messageClasses>;

  constructor(private readonly httpOptions: HttpOptions) {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.enable('strict routing');
    app.enable('case sensitive routing');
    super(app);
    this.messages = messageClasses(app, (response) => {
      const { socket } = response.req;
      if (!this.keepsConnections && !this.incoming.pipelined.isWaiting(socket))
        response.shouldKeepAlive = false;
      this.incoming.admission.release(response);
    });
    this.incoming = new IncomingRequests(app, httpOptions);
  }

  override initHttpServer(): void {
    this.httpServer = this.createServer(false);
  }

  /** Our server passes the host, and Nest adds the callback. */
  override listen(port: string | number, ...[host, callback]: unknown[]): Server {
    const options = { port: Number(port), host: String(host), backlog: BACKLOG };
    return (this.httpServer as Server).listen(options, callback as () => void);
  }

  /** Opens the port of `ADMIN_PORT`, on which nothing but probes and metrics are. */
  async listenOnAdminPort(port: number, host: string): Promise<void> {
    await once(this.createServer(true).listen(port, host), 'listening');
  }

  /** Makes a route of each file, so that our checks of methods, headers and metrics hold for it. */
  override useStaticAssets(directory: string, { prefix }: { prefix: string }): this {
    for (const name of readdirSync(directory).filter((each) => SWAGGER_FILE.test(each))) {
      const body = readFileSync(join(directory, name));
      serveStaticFile(this.getInstance(), `${prefix}/${name}`, name, body);
    }
    return this;
  }

  private createServer(onAdminPort: boolean): Server {
    const refusals = new SocketRefusals(this.httpOptions.observer);
    const receive = (request: ApiRequest, response: Response) => {
      request.onAdminPort = onAdminPort;
      if (request.headers['transfer-encoding'] === undefined) {
        this.incoming.receive(request, response);
        return;
      }
      // Node emits such a request first, and may refuse its Transfer-Encoding right after.
      process.nextTick(() => {
        if (!refusals.hasRefused(request)) this.incoming.receive(request, response);
      });
    };
    const server = createServer({ ...SERVER_OPTIONS, ...this.messages });
    // Above a count Node drops headers without an error, a second key among them. The size bounds them already.
    server.maxHeadersCount = 0;
    server.on('connection', () => this.incoming.admission.slices.connected());
    server.on('request', receive);
    server.on('checkExpectation', (request: ApiRequest, response: Response) => {
      request.hasUnmetExpectation = true;
      receive(request, response);
    });
    // What Node would refuse by itself is answered with problem details, too.
    server.on('clientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
      refusals.unreadable(code, socket);
    });
    server.on('connect', (_request, socket: Socket) => refusals.refuse(socket, methodNotAllowed()));
    watchConnections(server, this.httpOptions.limits.unreadMs);
    return server;
  }
}
