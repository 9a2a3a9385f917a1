import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { HttpSocket } from './connections.js';
import type { RequestObserver } from './incoming-requests.js';
import { Problem, refusedByProtocol } from './problem.js';
import { DATA_HEADERS } from './response-headers.js';

/** A refused connection is closed so long after its answer, also if its client is still sending. Milliseconds. */
const LINGER_MS = 1_000;

/** Thousands of connections may time out at once. This many are refused in one turn of the event loop. */
const LATE_AT_A_TIME = 10;

/** Made once, since making it takes longer than sending it. */
const TIMED_OUT = refusedByProtocol(408);

/** Refuses where Node gives us a socket but no response object: writes the answer on the socket and closes it. */
export class SocketRefusals {
  private readonly refused = new WeakSet<HttpSocket>();
  private late: HttpSocket[] = [];

  constructor(private readonly observer: RequestObserver) {}

  /** @param code of Node's HTTP parser or server */
  unreadable(code: string | undefined, socket: HttpSocket): void {
    if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') {
      this.refuse(socket, problemOf(code));
      return;
    }
    this.late.push(socket);
    if (this.late.length === 1) setImmediate(this.refuseLate);
  }

  private readonly refuseLate = (): void => {
    for (const socket of this.late.splice(0, LATE_AT_A_TIME)) {
      // This request was answered already, but its body never came to its end.
      if (socket.parser?.incoming?.complete === false && !socket._httpMessage) socket.destroy();
      else this.refuse(socket, TIMED_OUT);
    }
    if (this.late.length > 0) setImmediate(this.refuseLate);
  };

  /** Whether this request was refused as unreadable: only an incomplete one is, not those before it on the socket. */
  hasRefused({ complete, socket }: IncomingMessage): boolean {
    return !complete && this.refused.has(socket);
  }

  refuse(socket: HttpSocket, problem: Problem): void {
    // Node reports the same failure again for everything that the client sends afterwards.
    if (this.refused.has(socket)) return;
    this.refused.add(socket);
    // Node removes its own error listener on CONNECT, and an error without a listener would end the process.
    socket.on('error', () => socket.destroy());
    this.answerWhenDue(socket, problem);
  }

  private answerWhenDue(socket: HttpSocket, problem: Problem): void {
    const answer = socket._httpMessage;
    if (answer?.req.complete) {
      // That answer belongs to an earlier request, which is valid and is answered first.
      answer.once('close', () => this.answerWhenDue(socket, problem));
      return;
    }
    if (!socket.writable || answer?.headersSent) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    this.observer.refused(requestId, problem);
    socket.end(bareAnswer(problem, requestId));
    // A socket that is closed while data come in is reset, and the client might never see the answer.
    socket.resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }
}

/** @param code of Node's HTTP parser */
function problemOf(code = ''): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return refusedByProtocol(431);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return refusedByProtocol(413);
  return new Problem('invalid_request', 'The request is not valid HTTP/1.1.');
}

function bareAnswer(problem: Problem, requestId: string): string {
  const { body, headers } = problem.answer(requestId);
  const all = { ...DATA_HEADERS, ...headers, 'X-Request-Id': requestId, Connection: 'close' };
  const status = problem.getStatus();
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`;
}
