import type { Response } from 'express';
import type { ServerResponse } from 'node:http';
import type { ApiRequest, RequestListener } from '../api-request.js';
import type { HttpLimits } from '../http-limits.js';
import { QueueLimit } from './queue-limit.js';
import { TimeSlices } from './time-slices.js';

/**
 * Bounds the requests in flight, and queues those that can be served soon in the order of their arrival. All others
 * are refused. A request is in flight until the head of its answer is written, so clients that read slowly, and
 * streams, do not count.
 */
export class Admission {
  private readonly queue: Parameters<RequestListener>[] = [];
  private readonly inFlight = new Set<ServerResponse>();
  private readonly queueLimit = new QueueLimit(this.limits);
  readonly slices = new TimeSlices(() => this.serveNext());
  private deadline: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: HttpLimits,
    private readonly serve: RequestListener,
    private readonly refuse: RequestListener,
  ) {}

  /** @param request its `startedAt` is when it began to wait */
  admit(request: ApiRequest, response: Response): void {
    const now = request.startedAt;
    const { length } = this.queue;
    const limit = this.queueLimit.at(now, length);
    this.slices.schedule(now);
    if (length === 0 && this.hasPlace && this.slices.hasTime(now)) {
      this.begin(request, response);
    } else if (length >= limit) {
      this.refuse(request, response);
    } else {
      this.queue.push([request, response]);
      this.deadline ??= setTimeout(this.refuseLate, this.limits.longestWaitMs).unref();
    }
  }

  private get hasPlace(): boolean {
    return this.inFlight.size < this.limits.inFlight;
  }

  /** To be called when the head of an answer is written, and when its client has left. */
  release(response: ServerResponse): void {
    if (this.inFlight.delete(response) && this.queue.length > 0) this.slices.schedule();
  }

  private begin(request: ApiRequest, response: Response): void {
    this.inFlight.add(response);
    this.serve(request, response);
  }

  /** @returns whether a request was taken from the queue */
  private serveNext(): boolean {
    const next = this.hasPlace ? this.queue.shift() : undefined;
    if (!next) return false;
    this.queueLimit.countServed();
    // There is nobody to answer if the client has left.
    if (next[0].socket.writable) this.begin(...next);
    return true;
  }

  /** Refuses some at a time, so that the event loop stays free for others. */
  private readonly refuseLate = (): void => {
    const { longestWaitMs, queueMin } = this.limits;
    const lateBefore = performance.now() - longestWaitMs;
    const late = this.queue.slice(0, queueMin).filter(([{ startedAt }]) => startedAt <= lateBefore);
    for (const waiting of this.queue.splice(0, late.length)) this.refuse(...waiting);
    const [first] = this.queue;
    const firstLateIn = first && Math.max(0, first[0].startedAt - lateBefore);
    this.deadline = first && setTimeout(this.refuseLate, firstLateIn).unref();
  };
}
