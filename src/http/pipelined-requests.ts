import type { IncomingMessage } from 'node:http';
import type { HttpSocket } from './connections.js';

/** Memory for pipelined requests on all connections together: some 10,000 usual ones. Bytes. */
const BYTES_MAX = 32 * 1024 * 1024;

/** What a usual request takes, and what each name and each value of its headers takes beside its text. Measured. */
const REQUEST_BYTES = 3_300;
const HEADER_TEXT_BYTES = 80;

/** A connection that sends this many times more requests than may wait is closed at once. */
const CUT_OFF_AT = 100;

/** Counts and bounds the requests that wait for the answer to an earlier one on their connection. */
export class PipelinedRequests {
  /** How many wait on a connection, and the memory that they take. */
  private readonly waiting = new WeakMap<HttpSocket, { count: number; bytes: number }>();
  private bytes = 0;

  /** @param waitingMax how many may wait on one connection */
  constructor(private readonly waitingMax: number) {}

  /** @returns whether one more may wait; if not, all that still comes on the connection is ignored */
  add(request: IncomingMessage): boolean {
    const { socket } = request;
    const isTooMany = this.entryOf(socket).count >= this.waitingMax || this.bytes >= BYTES_MAX;
    if (isTooMany) this.ignoreRest(socket);
    else this.change(socket, 1, bytesOf(request));
    return !isTooMany;
  }

  /** To be called when it is the request's turn, if its connection is still open. */
  remove(request: IncomingMessage): void {
    this.change(request.socket, -1, -bytesOf(request));
  }

  /** Whether any request waits on a connection. */
  isWaiting(socket: HttpSocket): boolean {
    return (this.waiting.get(socket)?.count ?? 0) > 0;
  }

  private entryOf(socket: HttpSocket) {
    const known = this.waiting.get(socket);
    if (known) return known;
    const entry = { count: 0, bytes: 0 };
    this.waiting.set(socket, entry);
    // A response whose turn has not come is not told that its connection is closed.
    socket.once('close', () => this.change(socket, 0, -entry.bytes));
    return entry;
  }

  private change(socket: HttpSocket, count: number, bytes: number): void {
    const waiting = this.entryOf(socket);
    waiting.count += count;
    waiting.bytes += bytes;
    this.bytes += bytes;
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

/** Thousands of short headers take many times the memory of their text. */
function bytesOf({ rawHeaders, url = '' }: IncomingMessage): number {
  const textBytes = rawHeaders.reduce((sum, { length }) => sum + length, url.length);
  return Math.max(REQUEST_BYTES, HEADER_TEXT_BYTES * rawHeaders.length + textBytes);
}
