import type { HttpSocket } from './connections.js';

/** Requests sent ahead that may wait on all connections together: each takes some 3 kB. */
const TOGETHER_MAX = 10_000;

/** A connection that sends this many times more requests ahead than may wait is closed at once. */
const CUT_OFF_AT = 100;

/** Counts and bounds the requests that wait for the answer to an earlier one on their connection. */
export class SentAhead {
  private readonly waiting = new WeakMap<HttpSocket, number>();
  private together = 0;

  /** @param waitingMax how many may wait on one connection */
  constructor(private readonly waitingMax: number) {}

  /** @returns whether one more may wait; if not, nothing is made of what else comes on the connection */
  add(socket: HttpSocket): boolean {
    const count = this.waiting.get(socket);
    // A response whose turn has not come is not told that its connection is closed.
    if (count === undefined) socket.once('close', () => this.note(socket, 0));
    const waiting = (count ?? 0) + 1;
    const isTooMany = waiting > this.waitingMax || this.together >= TOGETHER_MAX;
    if (isTooMany) this.ignoreRest(socket);
    else this.note(socket, waiting);
    return !isTooMany;
  }

  /** To be called when one need not wait any more, and its connection is open. */
  remove(socket: HttpSocket): void {
    this.note(socket, (this.waiting.get(socket) ?? 1) - 1);
  }

  private note(socket: HttpSocket, waiting: number): void {
    this.together += waiting - (this.waiting.get(socket) ?? 0);
    this.waiting.set(socket, waiting);
  }

  /** Node would make a request and a response of each piece that comes, and keep both until the connection ends. */
  private ignoreRest(socket: HttpSocket): void {
    if (!socket.parser) return;
    let ignored = 0;
    socket.parser.onIncoming = () => {
      ignored += 1;
      if (ignored === CUT_OFF_AT * this.waitingMax) socket.destroy();
      return 0;
    };
  }
}
