import type { Response } from 'express';
import type { Socket } from 'node:net';
import type { ApiRequest } from './api-request.js';
import { WaitingRoom } from './waiting-room.js';

/** How much work is taken on. What can't be served soon is better refused at once. Times in milliseconds. */
export const ADMISSION = {
  /** Requests that are worked on at once: MongoDB's connections and half as many, so that none is idle. More would only wait there. */
  underWay: 48,
  /** Requests that may wait besides, however slow we are. */
  always: 64,
  /** Requests that may wait if they came all together. */
  burst: 3_000,
  /** Requests that may wait on one connection for the answer to an earlier one. */
  pipelined: 32,
  /** A queue that stands for so long is an overload. It is then kept so short that it passes in this time. */
  standingMs: 800,
  /** With the time of a read it stays at two seconds. */
  longestWaitMs: 900,
  /** After so much work at a stretch we look who else has come, so that probes and refusals wait no longer. */
  stretchMs: 5,
  /** Where looking takes long itself, so many times as much is spent on serving, lest refusing be all we do. */
  timesLooking: 3,
  longestStretchMs: 60,
} as const;

/** Asked by those who must know how things are when there is too much to do. */
const PROBE = /^\/(?:health\/|metrics(?:$|\?))/;

export type RequestListener = (request: ApiRequest, response: Response) => void;

/**
 * Where every request comes in. It is served at once if there is room, else in the order of arrival a little
 * later, or it is refused. The event loop returns to the sockets every few milliseconds, whatever there is to do: otherwise
 * a queue would form in the kernel, where nobody can be refused.
 */
export class Admission {
  private readonly room = new WaitingRoom<{ request: ApiRequest; response: Response }>(ADMISSION);
  private readonly pipelined = new WeakMap<Socket, number>();
  private underWay = 0;
  private stretchEndsAt = 0;
  private turnScheduled = false;
  private lookingSince = 0;
  private hasNewConnection = false;

  constructor(
    private readonly serve: RequestListener,
    private readonly refuse: RequestListener,
  ) {}

  /** The event loop takes one new connection in each turn: there may be more. */
  connected(): void {
    this.hasNewConnection = true;
    this.scheduleTurn();
  }

  enter(request: ApiRequest, response: Response): void {
    request.startedAt = performance.now();
    if (PROBE.test(request.url)) this.serve(request, response);
    // It has the socket for itself when there is no answer before it.
    else if (response.socket) this.admit(request, response);
    else this.admitLater(request, response);
  }

  /**
   * Once what came before it on its connection is answered and sent, and behind all who don't ask ahead:
   * nobody gets more than others by it.
   */
  private admitLater(request: ApiRequest, response: Response): void {
    const { socket } = request;
    const depth = this.pipelined.get(socket) ?? 0;
    if (depth >= ADMISSION.pipelined) {
      this.refuse(request, response);
      return;
    }
    this.pipelined.set(socket, depth + 1);
    response.once('socket', () => {
      this.pipelined.set(socket, (this.pipelined.get(socket) ?? 1) - 1);
      request.startedAt = performance.now();
      this.admit(request, response, true);
    });
  }

  private admit(request: ApiRequest, response: Response, askedAhead = false): void {
    const now = request.startedAt;
    this.scheduleTurn(now);
    if (this.isIdle && now < this.stretchEndsAt) {
      this.begin(request, response);
    } else if (this.room.isFull(now)) {
      this.refuse(request, response);
    } else if (askedAhead) {
      this.room.addBehind({ request, response });
    } else {
      this.room.add({ request, response });
    }
  }

  private get isIdle(): boolean {
    return this.room.length === 0 && this.hasFree && !this.hasNewConnection;
  }

  private get hasFree(): boolean {
    return this.underWay < ADMISSION.underWay;
  }

  private begin(request: ApiRequest, response: Response): void {
    this.underWay += 1;
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      this.underWay -= 1;
      if (this.room.length > 0) this.scheduleTurn();
    };
    // Whether the client reads the answer is no matter here; if it leaves before, there is none.
    response.on('ended', over).on('close', over);
    this.serve(request, response);
  }

  /** Once the sockets have been read. */
  private scheduleTurn(now = performance.now()): void {
    if (this.turnScheduled) return;
    this.turnScheduled = true;
    this.lookingSince = now;
    this.stretchEndsAt = now + ADMISSION.stretchMs;
    setImmediate(this.takeTurn);
  }

  private readonly takeTurn = (): void => {
    const { stretchMs, timesLooking, longestStretchMs } = ADMISSION;
    const now = performance.now();
    const looked = now - this.lookingSince;
    if (this.hasNewConnection && looked * timesLooking < stretchMs) {
      this.hasNewConnection = false;
      setImmediate(this.takeTurn);
      return;
    }
    this.hasNewConnection = false;
    this.turnScheduled = false;
    const stretch = Math.max(stretchMs, timesLooking * looked);
    this.stretchEndsAt = now + Math.min(stretch, longestStretchMs);
    this.serveNext();
  };

  private readonly serveNext = (): void => {
    if (this.room.length === 0 || !this.hasFree) return;
    const now = performance.now();
    if (now >= this.stretchEndsAt) {
      this.scheduleTurn(now);
      return;
    }
    const visitor = this.room.next();
    if (!visitor) return;
    const { request, response } = visitor;
    if (now - request.startedAt > ADMISSION.longestWaitMs) this.refuse(request, response);
    else this.begin(request, response);
    queueMicrotask(this.serveNextWhenDone);
  };

  /** When all that the last one could do without waiting is done: its time is known then. */
  private readonly serveNextWhenDone = (): void => process.nextTick(this.serveNext);
}
