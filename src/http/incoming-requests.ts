import type { RequestHandler, Response } from 'express';
import type { ApiRequest, RequestListener } from './api-request.js';
import type { HttpLimits } from './http-limits.js';
import { Admission } from './overload/admission.js';
import { PipelinedRequests } from './pipelined-requests.js';
import { isProbe } from './probe-paths.js';
import { sendProblem } from './problem.filter.js';
import { overloaded, type Problem } from './problem.js';
import { routablePath } from './raw-query.js';
import { identify } from './read-request.js';
import { findRoute } from './routes.js';

/** Made once, since making it takes longer than sending it. */
const OVERLOADED = overloaded();

/** After an answer, so long is left for the rest of its request, which stays in memory until then. Milliseconds. */
const REST_MS = 1_000;

/** Told of each request once: for log and metrics. */
export interface RequestObserver {
  /** When its answer is sent, or its client has left. */
  closed(request: ApiRequest, response: Response): void;
  /** When it could not be read. */
  refused(requestId: string, problem: Problem): void;
}

export interface HttpOptions {
  readonly limits: HttpLimits;
  readonly observer: RequestObserver;
  /** Where CORS is set up: sets the headers without which pages of other origins can't read an answer. */
  readonly cors: RequestHandler | undefined;
}

/** Serves probes at once, and other requests as admission lets them: of one connection one after the other. */
export class IncomingRequests {
  readonly pipelined = new PipelinedRequests(this.options.limits.pipelined);
  readonly admission = new Admission(
    this.options.limits,
    (request, response) => this.begin(request, response),
    (request, response) => this.refuse(request, response),
  );

  /** @param serve answers what is let in */
  constructor(
    public serve: RequestListener,
    private readonly options: HttpOptions,
  ) {}

  receive(request: ApiRequest, response: Response): void {
    // Behind the last request of a connection that is being closed.
    if (request.socket.writableEnded) return;
    request.startedAt = performance.now();
    response.once('close', () => {
      this.admission.release(response);
      if (!response.headersSent) identifyForLog(request);
      this.options.observer.closed(request, response);
      if (!request.complete) setTimeout(() => cutIncomplete(request), REST_MS).unref();
    });
    response.once('prefinish', () => {
      if (!request.complete && !response.shouldKeepAlive) closeAfterRest(request);
    });
    // A response has its socket only when no earlier answer is under way on it.
    if (!response.socket) this.receiveLater(request, response);
    else if (isProbe(request.url)) this.begin(request, response);
    else this.admission.admit(request, response);
  }

  /** Waits for earlier answers on the connection. The first one too many is refused, and the connection closed. */
  private receiveLater(request: ApiRequest, response: Response): void {
    const { socket } = request;
    if (!this.pipelined.add(request)) {
      response.shouldKeepAlive = false;
      this.refuse(request, response);
      return;
    }
    response.once('socket', () => {
      if (socket.destroyed) return;
      this.pipelined.remove(request);
      request.startedAt = performance.now();
      this.admission.admit(request, response);
    });
  }

  /** Gives a request its id only now: that may read the query, which takes many times the memory of its text. */
  private begin(request: ApiRequest, response: Response): void {
    identify(request);
    // Preflights are answered in Express, which knows whether there is such a path.
    if (request.method !== 'OPTIONS') this.allowOrigins(request, response);
    this.serve(request, response);
  }

  private refuse(request: ApiRequest, response: Response): void {
    identifyForLog(request);
    this.allowOrigins(request, response);
    // A preflight has its answer now.
    if (!response.headersSent) sendProblem(request, response, OVERLOADED);
  }

  private allowOrigins(request: ApiRequest, response: Response): void {
    this.options.cors?.(request, response, () => undefined);
  }
}

/** A connection that is closed before all of a request is read loses the answer (RFC 9112, 9.6): the rest is read first. */
function closeAfterRest(request: ApiRequest): void {
  const { socket } = request;
  const close = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    socket.end();
    if (request.complete) close();
    else request.once('end', close);
  };
}

function cutIncomplete({ complete, socket }: ApiRequest): void {
  if (!complete) socket.destroy();
}

/** Gives a request that is not served the id and the route that its log line tells. */
function identifyForLog(request: ApiRequest): void {
  if (request.requestId === undefined) identify(request);
  request.route ??= findRoute(request, routablePath(request.url));
}
