import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Reply {
  readonly status: number;
  readonly etag: string | undefined;
  readonly bodyBytes: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * One keep-alive connection with one request at a time, on a bare socket: so little work that a core of
 * load client can keep a core of server busy.
 */
export class HttpConnection {
  private readonly socket: Socket;
  private unread: Buffer = Buffer.alloc(0);
  /** The answer whose body is on its way, and the bytes that are missing. */
  private begun: Reply | undefined;
  private missing = 0;

  constructor(
    port: number,
    private readonly onReply: (reply: Reply) => void,
    onFailure: (error: Error) => void,
    /** Whether the answers have no bodies. */
    private readonly asksForHeads = false,
  ) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.on('data', (chunk) => this.take(chunk));
    this.socket.on('error', onFailure);
    this.socket.on('end', () => onFailure(new Error('The server closed the connection')));
  }

  get opened(): Promise<unknown> {
    return once(this.socket, 'connect');
  }

  /** @param text a whole request: head and empty line */
  send(text: string): void {
    this.socket.write(text, 'latin1');
  }

  close(): void {
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    if (this.begun) this.missing -= chunk.length;
    else this.readHead(chunk);
    if (!this.begun || this.missing > 0) return;
    const reply = this.begun;
    this.begun = undefined;
    this.onReply(reply);
  }

  private readHead(chunk: Buffer): void {
    const bytes = this.unread.length > 0 ? Buffer.concat([this.unread, chunk]) : chunk;
    const headBytes = bytes.indexOf(HEAD_END);
    if (headBytes < 0) {
      this.unread = bytes;
      return;
    }
    this.unread = Buffer.alloc(0);
    const head = bytes.toString('latin1', 0, headBytes);
    const status = Number(head.slice(9, 12));
    const bodyBytes = this.asksForHeads
      ? 0
      : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    this.begun = { status, bodyBytes, etag: /\r\netag: ([^\r]+)/i.exec(head)?.[1] };
    this.missing = bodyBytes - (bytes.length - headBytes - HEAD_END.length);
  }
}
