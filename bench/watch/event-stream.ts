import { get, type ClientRequest, type IncomingMessage } from 'node:http';

interface StreamTarget {
  readonly port: number;
  readonly key: string;
  /** With query. */
  readonly path: string;
  /** From where to resume. */
  readonly lastId: string | undefined;
}

export interface StreamEvent {
  readonly name: string;
  readonly id: string | undefined;
  /** JSON. */
  readonly data: string;
}

/** Told of all that a stream brings. */
export interface StreamListener {
  opened(): void;
  retry(ms: number): void;
  event(event: StreamEvent): void;
  /** @param status of the answer, if it was no stream; 0: there was none */
  closed(status: number): void;
}

/** One stream, split into events, whose JSON is not parsed. */
export class EventStream {
  private readonly request: ClientRequest;
  private text = '';
  private status = 0;

  constructor(
    { port, key, path, lastId }: StreamTarget,
    private readonly listener: StreamListener,
  ) {
    const resume = lastId === undefined ? {} : { 'Last-Event-ID': lastId };
    const headers = { 'X-API-Key': key, ...resume };
    this.request = get({ host: '127.0.0.1', port, path, headers, agent: false });
    this.request.on('response', (response) => this.read(response));
    this.request.on('error', () => undefined);
    this.request.on('close', () => listener.closed(this.status));
  }

  close(): void {
    this.request.destroy();
  }

  private read(response: IncomingMessage): void {
    this.status = response.statusCode ?? 0;
    response.setEncoding('utf8');
    response.on('error', () => undefined);
    if (this.status !== 200) {
      response.resume();
      return;
    }
    this.listener.opened();
    response.on('data', (chunk: string) => this.take(chunk));
  }

  private take(chunk: string): void {
    this.text += chunk;
    let start = 0;
    for (let end = this.text.indexOf('\n\n'); end >= 0; end = this.text.indexOf('\n\n', start)) {
      this.tell(this.text.slice(start, end).split('\n'));
      start = end + 2;
    }
    this.text = this.text.slice(start);
  }

  private tell(lines: readonly string[]): void {
    const field = (name: string) =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const retry = field('retry');
    if (retry !== undefined) this.listener.retry(Number(retry));
    const name = field('event');
    if (name) this.listener.event({ name, id: field('id'), data: field('data') ?? '' });
  }
}
