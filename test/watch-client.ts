import { get, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Market } from '../src/markets/market.schema.js';

/** What is new under one id. */
export interface Group {
  readonly eventId?: string;
  readonly fixtureId?: string;
  readonly reset: boolean;
  readonly changed: readonly Market[];
  readonly removed: readonly string[];
}

export interface StreamEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: {
    readonly data?: readonly Group[];
    readonly ageMs?: number;
    readonly reason?: string;
  };
  /** Monotonic time of its arrival. */
  readonly at: number;
}

/** The markets of a caller that applies what it is told by the rule of the interface. */
export class WatchedMarkets {
  private readonly byId = new Map<string, Map<string, Market>>();

  apply(groups: readonly Group[]): void {
    for (const { eventId, fixtureId, reset, changed, removed } of groups) {
      const id = eventId === undefined ? `fixtureId:${fixtureId}` : `eventId:${eventId}`;
      const markets = (!reset && this.byId.get(id)) || new Map<string, Market>();
      this.byId.set(id, markets);
      for (const market of changed) markets.set(String(market._id), market);
      for (const marketId of removed) markets.delete(marketId);
    }
  }

  /** In the order of `_id`. */
  of(id: string): Market[] {
    const all = [...(this.byId.get(id)?.values() ?? [])];
    return all.toSorted((one, other) => (String(one._id) < String(other._id) ? -1 : 1));
  }
}

/** A stream as a caller has it. */
export class StreamClient {
  readonly events: StreamEvent[] = [];
  private text = '';
  private waiting: (() => void)[] = [];
  retryMs: number | undefined;
  isOver = false;

  private constructor(
    private readonly request: ClientRequest,
    readonly response: IncomingMessage,
    readonly markets: WatchedMarkets,
  ) {
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.take(chunk));
    response.on('close', () => {
      this.isOver = true;
      this.wake();
    });
    response.on('error', () => undefined);
  }

  /** @param markets what the caller has already */
  static open(
    url: string,
    headers: Readonly<Record<string, string>>,
    markets = new WatchedMarkets(),
  ): Promise<StreamClient> {
    return new Promise((resolve, reject) => {
      const request = get(url, { headers, agent: false });
      request.on('response', (response) => resolve(new StreamClient(request, response, markets)));
      request.on('error', reject);
    });
  }

  /** As `open`, and again where it is refused: on a busy machine the feed may be late. */
  static async keepOpening(...args: Parameters<typeof StreamClient.open>): Promise<StreamClient> {
    for (;;) {
      const stream = await StreamClient.open(...args);
      if (stream.response.statusCode === 200) return stream;
    }
  }

  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id;
  }

  get names(): string[] {
    return this.events.map(({ event }) => event);
  }

  /** The first event that is so, of those that came or will come. */
  async event(isSo: (event: StreamEvent) => boolean, withinMs = 10_000): Promise<StreamEvent> {
    const giveUp = AbortSignal.timeout(withinMs);
    giveUp.addEventListener('abort', () => this.wake());
    for (;;) {
      const found = this.events.find(isSo);
      if (found) return found;
      if (this.isOver || giveUp.aborted) {
        const told = JSON.stringify(this.events.slice(-5));
        throw new Error(`No such event among ${told}, status ${this.response.statusCode}`);
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  named(name: string, withinMs?: number): Promise<StreamEvent> {
    return this.event(({ event }) => event === name, withinMs);
  }

  async over(): Promise<void> {
    while (!this.isOver) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  close(): void {
    this.request.destroy();
  }

  private take(chunk: string): void {
    this.text += chunk;
    // Each event ends with a line break: a long one is not searched anew with each piece of it.
    if (!chunk.includes('\n')) return;
    for (let end = this.text.indexOf('\n\n'); end >= 0; end = this.text.indexOf('\n\n')) {
      this.read(this.text.slice(0, end));
      this.text = this.text.slice(end + 2);
    }
    this.wake();
  }

  private read(block: string): void {
    const fields = new Map(
      block.split('\n').map((line) => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon), line.slice(colon + 2)] as const;
      }),
    );
    const retry = fields.get('retry');
    if (retry !== undefined) this.retryMs = Number(retry);
    const id = fields.get('id');
    const data = JSON.parse(fields.get('data') ?? '{}') as StreamEvent['data'];
    const event = { event: fields.get('event') ?? '', ...(id && { id }), data };
    this.events.push({ ...event, at: performance.now() });
    if (data.data) this.markets.apply(data.data);
  }

  private wake(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const go of waiting) go();
  }
}
