import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** How slow the network is; nothing given: as fast as it goes. */
interface Slowness {
  /** Added to whatever is sent, in each direction, in ms. */
  readonly delayMs?: number;
  /** Of each connection in each direction. */
  readonly bytesPerSecond?: number;
}

/** The network between the service and MongoDB: it can be slow, or swallow everything without a word. */
export class TcpProxy {
  slowness: Slowness = {};
  private readonly sockets = new Set<Socket>();
  private healed = Promise.resolve();
  private letThrough: () => void = () => undefined;

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (socket) => this.carry(socket));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, targetPort);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Nothing gets through any more, not even the end of a connection; new connections are accepted. */
  blackHole(): void {
    this.healed = new Promise((resolve) => {
      this.letThrough = resolve;
    });
  }

  /** What was held back gets through, as TCP sends again what was lost. */
  heal(): void {
    this.letThrough();
  }

  async stop(): Promise<void> {
    this.heal();
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private carry(client: Socket): void {
    const upstream = connect(this.targetPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => this.sockets.delete(socket));
    }
    this.forward(client, upstream);
    this.forward(upstream, client);
  }

  private forward(from: Socket, to: Socket): void {
    let passed = Promise.resolve();
    let freeAt = 0;
    const pass = (bytes: number, act: () => void) => {
      const { delayMs = 0, bytesPerSecond = Infinity } = this.slowness;
      const sendingMs = (bytes / bytesPerSecond) * 1000;
      freeAt = Math.max(freeAt, performance.now() + delayMs) + sendingMs;
      const at = freeAt;
      passed = passed.then(() => this.hold(at)).then(act);
    };
    from.on('data', (chunk: Buffer) => pass(chunk.length, () => void to.write(chunk)));
    from.once('close', () => pass(0, () => to.destroy()));
  }

  private async hold(until: number): Promise<void> {
    const leftMs = until - performance.now();
    if (leftMs > 0) await delay(leftMs);
    await this.healed;
  }
}
