import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** Takes connections in the place of a mongod that is away, never says a word, and counts them. */
export class ConnectionTrap {
  /** The most that were open at one moment. */
  atOnce = 0;
  inAll = 0;
  private readonly open = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      this.open.add(socket);
      this.inAll += 1;
      this.atOnce = Math.max(this.atOnce, this.open.size);
      socket.on('error', () => undefined);
      socket.resume().once('close', () => this.open.delete(socket));
    });
  }

  static async start(port: number): Promise<ConnectionTrap> {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new ConnectionTrap(server);
  }

  async stop(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
