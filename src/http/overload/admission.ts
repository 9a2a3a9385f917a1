import type { Response } from 'express';
import type { ApiRequest } from '../api-request.js';
import type { HttpLimits } from '../http-limits.js';
import { QueueLimit } from './queue-limit.js';
import { TimeSlices } from './time-slices.js';

export type RequestListener = (request: ApiRequest, response: Response) => void;

interface Waiting {
  readonly request: ApiRequest;
  readonly response: Response;
}

/**
 * Bounds the requests in flight, and queues those that can be served soon in the order of their arrival. All others
 * are refused. A request is in flight until the head of its answer is written, so clients that read slowly, and
 * streams, do not count.
 */
export class Admission {
  private readonly queue: Waiting[] = [];
  private readonly queueLimit: QueueLimit;
  private readonly slices = new TimeSlices(() => this.serveNext());
  private inFlight = 0;
  private deadline: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: HttpLimits,
    private readonly serve: RequestListener,
    private readonly refuse: RequestListener,
  ) {
    this.queueLimit = new QueueLimit(limits);
  }

  /** @param request its `startedAt` is when it began to wait */
  admit(request: ApiRequest, response: Response): void {
    const now = request.startedAt;
    const { length } = this.queue;
    const limit = this.queueLimit.at(now, length);
    this.slices.request(now);
    if (length === 0 && this.hasPlace && this.slices.hasTime(now)) this.begin(request, response);
    else if (length >= limit) this.refuse(request, response);
    else this.enqueue(request, response);
  }

  private get hasPlace(): boolean {
    return this.inFlight < this.limits.inFlight;
  }

  private enqueue(request: ApiRequest, response: Response): void {
    this.queue.push({ request, response });
    this.deadline ??= setTimeout(this.refuseLate, this.limits.longestWaitMs);
  }

  private begin(request: ApiRequest, response: Response): void {
    this.inFlight += 1;
    let isInFlight = true;
    const over = () => {
      if (!isInFlight) return;
      isInFlight = false;
      this.inFlight -= 1;
      if (this.queue.length > 0) this.slices.request();
    };
    response.once('head', over).once('close', over);
    this.serve(request, response);
  }

  /** @returns whether a request was taken from the queue */
  private serveNext(): boolean {
    const next = this.hasPlace ? this.queue.shift() : undefined;
    if (!next) return false;
    this.queueLimit.countServed();
    // There is nobody to answer if the client has left.
    if (next.request.socket.writable) this.begin(next.request, next.response);
    return true;
  }

  /** Refuses some at a time, so that the event loop stays free for others. */
  private readonly refuseLate = (): void => {
    const { longestWaitMs } = this.limits;
    const now = performance.now();
    let wait = this.waitOfFirst(now);
    for (let count = 0; wait >= longestWaitMs && count < this.limits.queueMin; count++) {
      const late = this.queue.shift();
      if (late) this.refuse(late.request, late.response);
      wait = this.waitOfFirst(now);
    }
    this.deadline = undefined;
    if (this.queue.length > 0) this.deadline = setTimeout(this.refuseLate, longestWaitMs - wait);
  };

  private waitOfFirst(now: number): number {
    const [first] = this.queue;
    return first ? now - first.request.startedAt : 0;
  }
}
