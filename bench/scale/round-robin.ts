import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A load balancer as simple as can be: gives connections to the servers in turn, on loopback. */
export class RoundRobin {
  private readonly sockets = new Set<Socket>();
  private next = 0;
  private readonly server = createServer({ noDelay: true }, (client) => this.pass(client));

  private constructor(private readonly ports: readonly number[]) {}

  static async listen(ports: readonly number[]): Promise<RoundRobin> {
    const proxy = new RoundRobin(ports);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private pass(client: Socket): void {
    const port = this.ports[this.next++ % this.ports.length] ?? 0;
    const server = connect({ host: '127.0.0.1', port, noDelay: true });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(one);
      one.pipe(other);
      one.on('error', () => undefined);
      one.once('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
  }
}
