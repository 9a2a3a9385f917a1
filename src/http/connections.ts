import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Closing idle connections waits this long, so that a new one can bring its first request. Milliseconds. */
const FIRST_REQUEST_MS = 300;

/** How often connections are checked in the time after which a client is cut off. */
const CHECKS = 15;

/**
 * A socket with what Node keeps for itself: the request that is read from it, the answer that is sent on it, and how
 * many bytes of a write the system has not taken yet.
 */
export type HttpSocket = Socket & {
  readonly parser?: { readonly incoming: IncomingMessage | null; onIncoming?: () => number } | null;
  readonly _httpMessage?: ServerResponse | null;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
};

/** The sockets of clients that were cut off because they read nothing. */
export const cutUnread = new WeakSet<Socket>();

/**
 * Cuts off clients that read nothing of an answer for so long, since it stays in memory. Slow readers are left alone.
 * Closing idle connections spares those whose answer is still being read, and those with a request that has begun.
 */
export function watchConnections(server: Server, unreadMs: number): void {
  /** `sent` bytes, unchanged since `sentAt`; `received` bytes when the newest request had come. */
  const connections = new Map<HttpSocket, { sent: number; sentAt: number; received: number }>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { sent: 0, sentAt: performance.now(), received: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', ({ socket }) => {
    const last = connections.get(socket);
    if (last) last.received = socket.bytesRead;
  });
  const closeIdle = () => {
    for (const [socket, { received }] of connections)
      if (!socket._httpMessage && socket.bytesRead === received) socket.destroy();
  };
  // For Node a connection is idle as soon as its answer is written, although its client may still be reading it, and
  // when it has just been made.
  server.closeIdleConnections = () => void setTimeout(closeIdle, FIRST_REQUEST_MS);
  const check = () => {
    const now = performance.now();
    for (const [socket, last] of connections) {
      const sent = sentOn(socket);
      if (socket.writableLength === 0 || sent !== last.sent)
        Object.assign(last, { sent, sentAt: now });
      else if (now - last.sentAt >= unreadMs) cutUnread.add(socket.destroy());
    }
  };
  server.once('listening', () => {
    const timer = setInterval(check, unreadMs / CHECKS).unref();
    server.once('close', () => clearInterval(timer));
  });
}

/** Bytes that the system took from us: it takes more as the client reads. */
function sentOn(socket: HttpSocket): number {
  return socket.bytesWritten - (socket._handle?.writeQueueSize ?? 0);
}
