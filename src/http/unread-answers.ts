import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How often an answer is checked before its client is cut off. */
const CHECKS = 15;

interface Progress {
  sent: number;
  since: number;
}

/** Node's internal handle tells how many bytes of a write the system has not taken yet. */
type SocketWithHandle = Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null };

/** Cuts off clients that read nothing of an answer, which stays in memory. Slow readers are left alone. */
export class UnreadAnswers {
  private readonly begun = new Map<ServerResponse, Progress>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly afterMs: number) {}

  /** Begins to watch an answer, when its head is written. */
  watch(response: ServerResponse): void {
    this.begun.set(response, { sent: -1, since: performance.now() });
    this.timer ??= setInterval(() => this.check(), this.afterMs / CHECKS).unref();
  }

  closed(response: ServerResponse): void {
    this.begun.delete(response);
  }

  end(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const now = performance.now();
    for (const [{ req }, progress] of this.begun) {
      const sent = sentOn(req.socket);
      if (req.socket.writableLength === 0 || sent !== progress.sent) {
        Object.assign(progress, { sent, since: now });
      } else if (now - progress.since >= this.afterMs) {
        req.socket.destroy();
      }
    }
  }
}

/** Bytes that the system took. */
export function sentOn(socket: SocketWithHandle): number {
  return socket.bytesWritten - (socket._handle?.writeQueueSize ?? 0);
}
