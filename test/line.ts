import type { Socket } from 'node:net';
import { Relay } from './relay.js';

/**
 * The cable from a client to the service, or from the service to MongoDB: it can be pulled, fall silent, be slow, or
 * lie behind a proxy that gathers.
 */
export class Line extends Relay {
  private readonly lost = new WeakSet<Socket>();
  /** Connections are refused. */
  pulled = false;
  /** How many bytes of each stream come through; the rest is held back, as by a proxy that buffers answers. */
  streamBytes = Infinity;
  /** Latency of what the service sends. Milliseconds. */
  underWayMs = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What the service sends from now on over the open connections is lost. */
  silence(): void {
    for (const socket of this.sockets) this.lost.add(socket);
  }

  protected carry(caller: Socket, service: Socket): void {
    if (this.pulled) return void caller.destroy();
    let left = Infinity;
    caller.on('data', (chunk: Buffer) => {
      left = chunk.includes('GET /v1/markets/stream') ? this.streamBytes : Infinity;
      service.write(chunk);
    });
    service.on('data', (chunk: Buffer) => {
      if (this.lost.has(service) || left <= 0) return;
      const part = chunk.subarray(0, left);
      if (this.underWayMs === 0) caller.write(part);
      else setTimeout(() => caller.write(part), this.underWayMs);
      left -= chunk.length;
    });
  }
}
