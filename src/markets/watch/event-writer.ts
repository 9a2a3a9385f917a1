import type { Response } from 'express';
import { sentOn } from '../../http/connections.js';

/** Writes the events of a stream, and knows for how long its client has not read them. */
export class EventWriter {
  /** Monotonic time at which the socket was last seen to have room, or to have taken something. */
  private readAt = performance.now();
  /** Bytes that a full socket had taken; undefined while there is room. */
  private sent: number | undefined;
  events = 0;

  constructor(private readonly response: Response) {}

  /** Whether the socket is full: `drain` of the response tells when it is not any more. */
  get isBlocked(): boolean {
    return this.response.writableNeedDrain;
  }

  write(event: string | Buffer): void {
    this.events += 1;
    this.response.write(event);
  }

  /** Whether the socket has been full, and has taken nothing, for longer than that. Called at short intervals. */
  isUnread(now: number, forMs: number): boolean {
    const sent = this.isBlocked ? sentOn(this.response.req.socket) : undefined;
    if (sent === undefined || sent !== this.sent) this.readAt = now;
    this.sent = sent;
    return now - this.readAt > forMs;
  }
}
