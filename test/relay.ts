import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** What lies between two programs: a port on loopback whose connections are carried on to another port. */
export abstract class Relay {
  protected readonly sockets = new Set<Socket>();
  private readonly server = createServer({ noDelay: true }, (caller) => {
    const service = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    for (const [socket, other] of [
      [caller, service],
      [service, caller],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.sockets.delete(socket);
        this.hangUp(other);
      });
    }
    this.carry(caller, service);
  });

  /** @param targetPort where the next connection goes */
  constructor(public targetPort: number) {}

  async listen(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves when somebody connects. */
  async connection(): Promise<void> {
    await once(this.server, 'connection');
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  /** Sends on what comes from either end. */
  protected abstract carry(caller: Socket, service: Socket): void;

  /** Ends one end of a connection when the other has ended. */
  protected hangUp(socket: Socket): void {
    socket.destroy();
  }
}
