import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The cable between client and service: it can be pulled, fall silent, be slow, or lie behind a proxy that gathers. */
export class Line {
  private readonly sockets = new Set<Socket>();
  private readonly lost = new WeakSet<Socket>();
  /** Connections are refused. */
  pulled = false;
  /** How many bytes of each stream come through; the rest is held back, as by a proxy that buffers answers. */
  streamBytes = Infinity;
  /** Latency of what the service sends. Milliseconds. */
  underWayMs = 0;

  private constructor(
    private readonly server: Server,
    public targetPort: number,
  ) {
    server.on('connection', (caller) => this.carry(caller));
  }

  static async to(port: number): Promise<Line> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Line(server, port);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** What the service sends from now on over the open connections is lost. */
  silence(): void {
    for (const socket of this.sockets) this.lost.add(socket);
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private carry(caller: Socket): void {
    if (this.pulled) return void caller.destroy();
    const service = connect(this.targetPort, '127.0.0.1');
    let left = Infinity;
    for (const [socket, other] of [
      [caller, service],
      [service, caller],
    ] as const) {
      this.sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          this.sockets.delete(socket);
          other.destroy();
        });
    }
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
