import type { Response } from 'express';
import type { Socket } from 'node:net';
import type { ApiRequest } from '../api-request.js';
import { Places } from './places.js';
import { Turns } from './turns.js';
import { WaitingRoom } from './waiting-room.js';

/** How much work is taken on. What can't be served soon is better refused at once. Times in milliseconds. */
export const ADMISSION = {
  /** Requests that are worked on at once: MongoDB's connections and half as many, so that none is idle. More would only wait there. */
  underWay: 48,
  /** Requests that may wait besides, however slow we are. */
  always: 64,
  /** Requests that may wait if they came all together: most are served in the time below. */
  burst: 5_000,
  /** Requests that may wait if they are served soon enough. */
  most: 10_000,
  /** Requests that may wait on one connection for the answer to an earlier one. */
  pipelined: 32,
  /** A queue that stands for twice as long is an overload: kept short enough that who waits is answered in the time below. */
  periodMs: 350,
  /** Long enough for a storm to be told from its first moments. */
  periods: 6,
  /** Later than callers like, sooner than who is refused may come again and be served. */
  answeredInMs: 1_400,
  /** Callers who have less patience than that show it: they leave. A few always do. */
  leaving: 0.1,
  /** Callers change; trying costs the answers of one period. */
  doublesInMs: 30_000,
  /** Who has waited longer is refused: with the longest read it stays at two and a half seconds. */
  longestWaitMs: 1_600,
  /** After so much work at a stretch we look who else has come, so that probes and refusals wait no longer. */
  stretchMs: 5,
  /** Where looking takes long itself, so many times as much is spent on serving, lest refusing be all we do. */
  timesLooking: 3,
  longestStretchMs: 60,
  /** Who was refused is not read for a while if reading takes too much of our time, but no longer than this. */
  longestSilenceMs: 150,
} as const;

/** Asked by those who must know how things are when there is too much to do. */
const PROBE = /^\/(?:health\/|metrics(?:$|\?))/;

export type RequestListener = (request: ApiRequest, response: Response) => void;

/** Who waits: a request, or a connection whose next request is not read before its turn. */
type Visitor = Visit | UnreadConnection;

interface Visit {
  readonly request: ApiRequest;
  readonly response: Response;
  /** Such ones are served one in a turn: it may be a costly one, and others may have come meanwhile. */
  readonly askedAhead?: boolean;
}

interface UnreadConnection {
  readonly socket: Socket;
  readonly since: number;
}

/**
 * Where every request comes in. It is served at once if there is room, else in the order of arrival a little
 * later, or it is refused. The event loop returns to the sockets every few milliseconds, whatever there is to do: otherwise
 * a queue would form in the kernel, where nobody can be refused.
 */
export class Admission {
  private readonly turns = new Turns(ADMISSION, (looked) => this.beginStretch(looked));
  private readonly room = new WaitingRoom<Visitor>();
  private readonly places = new Places(ADMISSION);
  private readonly pipelined = new WeakMap<Socket, number>();
  /** Connections that are to be read in this turn, and since when they waited. */
  private readonly called = new Map<Socket, number>();
  /** Connections that were refused and are not to be read in the next turns. */
  private silenced: Socket[] = [];
  private underWay = 0;

  constructor(
    private readonly serve: RequestListener,
    private readonly sendRefusal: RequestListener,
    /** Told of who left before its turn: there is nobody to answer. */
    private readonly noteLeft: RequestListener,
  ) {}

  connected(): void {
    this.turns.connected();
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
      this.turns.schedule(request.startedAt);
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
    this.turns.schedule(now);
    const calledSince = this.called.get(request.socket);
    if (calledSince !== undefined) {
      this.called.delete(request.socket);
      request.startedAt = calledSince;
      this.room.addAhead({ request, response });
      this.turns.lookOnceMore();
    } else if (this.room.length === 0 && this.hasFree && this.turns.hasTime(now)) {
      this.begin(request, response);
    } else if (this.isFull(now)) {
      this.refuse(request, response);
    } else if (askedAhead) {
      this.room.addBehind({ request, response, askedAhead });
    } else {
      this.room.add({ request, response });
    }
  }

  private isFull(now: number): boolean {
    const { length: waiting } = this.room;
    return waiting >= this.places.forWaiting(now, { waiting, underWay: this.underWay });
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
      if (this.room.length > 0) this.turns.schedule();
    };
    // Whether the client reads the answer is no matter here; if it leaves before, there is none.
    response.on('ended', over).on('close', () => {
      over();
      this.leaveUnread(request.socket);
    });
    this.serve(request, response);
  }

  /**
   * While many wait, the next request of a connection waits where it costs nothing: in the kernel, unread.
   * Read, thousands of requests outlive V8's young generation, and each answer costs half as much again.
   */
  private leaveUnread(socket: Socket): void {
    if (this.room.length < ADMISSION.always || !socket.writable) return;
    const now = performance.now();
    if (this.isFull(now)) return;
    socket.pause();
    this.room.add({ socket, since: now });
    this.turns.schedule(now);
  }

  private refuse(request: ApiRequest, response: Response): void {
    this.sendRefusal(request, response);
    if (this.turns.lookedFor(request.startedAt) < ADMISSION.stretchMs) return;
    // Before, Node would resume it.
    response.once('close', () => {
      request.socket.pause();
      this.silenced.push(request.socket);
      this.turns.schedule();
    });
  }

  private beginStretch(looked: number): void {
    const { longestSilenceMs, timesLooking } = ADMISSION;
    if (this.silenced.length > 0) {
      setTimeout(hearAgain, Math.min(timesLooking * looked, longestSilenceMs), this.silenced);
      this.silenced = [];
    }
    this.called.clear();
    this.serveNext();
  }

  private readonly serveNext = (): void => {
    const now = performance.now();
    const visit = this.nextVisit(now);
    if (!visit) {
      this.turns.endStretch(now);
      return;
    }
    const { request, response } = visit;
    if (!request.socket.writable) {
      this.places.countLeft(request.startedAt, now);
      this.noteLeft(request, response);
    } else if (now - request.startedAt > ADMISSION.longestWaitMs) {
      this.refuse(request, response);
    } else {
      this.places.countServed();
      this.begin(request, response);
    }
    queueMicrotask(this.serveNextWhenDone);
  };

  /** When all that the last one could do without waiting is done: its time is known then. */
  private readonly serveNextWhenDone = (): void => process.nextTick(this.serveNext);

  /** Who is to be served in this stretch; meanwhile connections are called for the next one. */
  private nextVisit(now: number): Visit | undefined {
    while (this.room.length > 0 && this.hasFree) {
      this.turns.schedule(now);
      if (!this.turns.hasTime(now) || this.called.size >= ADMISSION.always) return undefined;
      const visitor = this.room.next();
      if (!visitor) return undefined;
      if ('request' in visitor) {
        if (visitor.askedAhead) this.turns.cutShort(now);
        return visitor;
      }
      this.called.set(visitor.socket, visitor.since);
      visitor.socket.resume();
    }
    return undefined;
  }
}

function hearAgain(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.resume();
}
