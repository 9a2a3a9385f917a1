import { HttpConnection, type Reply } from '../http-connection.js';

/** Asks one server, one request after the other, on one connection. */
export class Caller {
  private settle: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | undefined;
  private readonly connection: HttpConnection;

  constructor(port: number) {
    this.connection = new HttpConnection(
      port,
      (reply) => this.settle?.resolve(reply),
      (error) => this.settle?.reject(error),
    );
  }

  ask(target: string, key: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.connection.send(
        `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`,
      );
    });
  }

  close(): void {
    this.connection.close();
  }
}
