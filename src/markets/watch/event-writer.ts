import type { Response } from 'express';
import { sentOn } from '../../http/connections.js';

/** Writes the events of a stream, and knows whether the socket is full, and for how long the client has not read. */
export class EventWriter {
  private blockedSince: number | undefined;
  private sent = 0;
  /** Monotonic time of the last event. */
  lastAt = -Infinity;
  events = 0;

  constructor(
    private readonly response: Response,
    drained: () => void,
  ) {
    response.on('drain', () => {
      this.blockedSince = undefined;
      drained();
    });
  }

  get isBlocked(): boolean {
    return this.blockedSince !== undefined;
  }

  write(event: string | Buffer): void {
    this.lastAt = performance.now();
    this.events += 1;
    if (!this.response.write(event)) this.blockedSince ??= this.lastAt;
  }

  /** Whether the socket has been full, and has taken nothing, for longer than that. Called at short intervals. */
  isUnread(now: number, forMs: number): boolean {
    if (this.blockedSince === undefined) return false;
    const sent = sentOn(this.response.req.socket);
    if (sent !== this.sent) this.blockedSince = now;
    this.sent = sent;
    return now - this.blockedSince > forMs;
  }

  end(event: string): void {
    this.write(event);
    this.response.end();
  }
}
