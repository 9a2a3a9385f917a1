import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { IncomingRequests, type HttpOptions } from './incoming-requests.js';
import { messageClasses } from './message-classes.js';
import { createNodeServer } from './node-server.js';
import type { RequestListener } from './overload/admission.js';
import { readyFiles } from './ready-files.js';

/** New connections that the system queues for us; beyond that it drops them, and clients try again after a second. */
const BACKLOG = 4_096;

/** Express for Nest, on HTTP servers that bound what waits, what is unread, and how clients are refused. */
export class HttpServerAdapter extends ExpressAdapter {
  /** Set to false when shutting down: every answer then closes its connection, those under way included. */
  keepsConnections = true;

  private serve: RequestListener;
  private readonly incoming: IncomingRequests;
  private readonly messages: ReturnType<typeof messageClasses>;
  private operators: Server | undefined;

  constructor(private readonly httpOptions: HttpOptions) {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.enable('strict routing');
    app.enable('case sensitive routing');
    super(app);
    this.serve = app;
    this.messages = messageClasses(app, (response) => {
      if (!this.keepsConnections) response.shouldKeepAlive = false;
    });
    this.incoming = new IncomingRequests(
      app,
      (...admitted) => this.serve(...admitted),
      httpOptions,
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

  /** Puts a listener before Express, which it may pass requests on to. */
  serveBy(listener: (express: RequestListener) => RequestListener): void {
    this.serve = listener(this.getInstance<Express>());
  }

  /** Opens a port on which nothing but probes and metrics are. */
  async listenForOperators(port: number, host: string): Promise<Server> {
    this.operators = this.createServer(true).listen(port, host);
    await once(this.operators, 'listening');
    return this.operators;
  }

  /** From memory: a file that is piped keeps its request in flight for as long as its client reads. */
  override useStaticAssets(directory: string, { prefix }: { prefix: string }): this {
    readyFiles(this.getInstance(), directory, prefix);
    return this;
  }

  override async close(): Promise<void> {
    this.operators?.close();
    this.operators?.closeAllConnections();
    await super.close();
  }

  private createServer(forOperators: boolean): Server {
    const receive: RequestListener = (request, response) => {
      request.fromOperator = forOperators;
      this.incoming.receive(request, response);
    };
    return createNodeServer(this.messages, this.httpOptions, receive);
  }
}
