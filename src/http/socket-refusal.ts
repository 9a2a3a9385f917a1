import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Problem, PROBLEM_MEDIA_TYPE } from './problem.js';

/** How long a refused client may go on sending before its connection is cut. Milliseconds. */
const LINGER_MS = 1_000;

/** Told of each request that was refused before it could be read. */
export type RefusalListener = (requestId: string, problem: Problem) => void;

/** One for all: making it takes longer than sending it. */
export const TIMED_OUT = new Problem('invalid_request', 'The request did not arrive in time.', {
  status: 408,
});

/** What the HTTP parser's error codes mean to the client. */
export function unreadable(parserCode: string | undefined): Problem {
  const [status, detail] =
    {
      HPE_HEADER_OVERFLOW: [431, 'The request line and headers exceed 16 KiB.'] as const,
      HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large.'] as const,
    }[parserCode ?? ''] ?? ([400, 'The request is not valid HTTP/1.1.'] as const);
  return new Problem('invalid_request', detail, { status });
}

/** A socket with the answer that Node is sending on it, if any. */
type HttpSocket = Duplex & { readonly _httpMessage?: ServerResponse | null };

const refused = new WeakSet<HttpSocket>();

/** Answers on the bare socket, where there is no response object, and closes it. */
export function refuseOnSocket(socket: HttpSocket, problem: Problem, tell: RefusalListener): void {
  // The parser tells its failure anew for whatever else comes in.
  if (refused.has(socket)) return;
  refused.add(socket);
  // Node takes its own listener off after CONNECT, and an error that nobody listens to ends the process.
  socket.on('error', () => socket.destroy());
  refuseWhenDue(socket, problem, tell);
}

function refuseWhenDue(socket: HttpSocket, problem: Problem, tell: RefusalListener): void {
  const answer = socket._httpMessage;
  if (answer?.req.complete) {
    // To an earlier request, in which nothing is wrong.
    answer.once('close', () => refuseWhenDue(socket, problem, tell));
    return;
  }
  if (!socket.writable || answer?.headersSent) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  tell(requestId, problem);
  socket.end(bareAnswer(problem, requestId));
  // Closed while the client still sends, the connection would be reset, and the answer with it lost.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function bareAnswer(problem: Problem, requestId: string): string {
  const body = JSON.stringify(problem.body(requestId));
  const headers = {
    'Content-Type': PROBLEM_MEDIA_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
    ...problem.headers,
  };
  const status = problem.getStatus();
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`;
}
