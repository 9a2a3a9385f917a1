import { EventStream, type StreamEvent, type StreamListener } from './event-stream.js';
import type { CrowdReport } from './crowd-orders.js';

interface CrowdStreamOptions {
  readonly port: number;
  readonly key: string;
  readonly path: string;
  readonly returnTo: number | undefined;
}

interface Context {
  readonly tally: () => Tally;
  readonly arrived: (data: string) => void;
}

type Counts = Record<string, number>;
type Reported = Omit<CrowdReport, 'open' | 'whole' | 'sinceAcknowledged' | 'sinceBegun'>;
export type Tally = { -readonly [K in keyof Reported]: Mutable<Reported[K]> };
type Mutable<T> = T extends readonly number[]
  ? number[]
  : T extends Readonly<Record<string, number>>
    ? Counts
    : T;

export function newTally(): Tally {
  return {
    events: {},
    ends: {},
    endedAt: [],
    returnedAt: [],
    refused: {},
    resumedGroups: 0,
    resetGroups: 0,
    silenceMs: 0,
  };
}

const COMES_BACK_AFTER_MS = 1_000;
const IDS = /(?:fixture|event)Id=/g;

/** A stream that counts its events, and reconnects as a browser does if `returnTo` is set. */
export class CrowdStream implements StreamListener {
  private stream: EventStream;
  private lastId: string | undefined;
  private retryMs = COMES_BACK_AFTER_MS;
  private heardAt = 0;
  private reason: string | undefined;
  private isResumed = false;
  private isDone = false;
  isOpen = false;
  isWhole = false;

  constructor(
    private readonly options: CrowdStreamOptions,
    private readonly context: Context,
  ) {
    this.stream = this.connect(options.port);
  }

  silenceMs(now: number): number {
    return this.isOpen ? now - this.heardAt : 0;
  }

  close(): void {
    this.isDone = true;
    this.stream.close();
  }

  opened(): void {
    this.isOpen = true;
    this.isResumed = this.lastId !== undefined;
    this.reason = undefined;
    this.heardAt = performance.now();
    if (!this.isResumed) return;
    this.tally.returnedAt.push(Date.now());
    this.tally.resumedGroups += this.options.path.match(IDS)?.length ?? 0;
  }

  retry(ms: number): void {
    this.retryMs = ms;
  }

  event({ name, id, data }: StreamEvent): void {
    const now = performance.now();
    this.tally.silenceMs = Math.max(this.tally.silenceMs, this.silenceMs(now));
    this.heardAt = now;
    count(this.tally.events, name);
    if (id !== undefined) this.lastId = id;
    if (name === 'current') this.isWhole = true;
    if (name === 'end') this.reason = (JSON.parse(data) as { reason: string }).reason;
    if (name !== 'changes') return;
    if (this.isResumed) this.tally.resetGroups += data.match(/"reset":true/g)?.length ?? 0;
    this.context.arrived(data);
  }

  closed(status: number): void {
    if (this.isDone) return;
    if (status === 200) {
      count(this.tally.ends, this.reason ?? 'cut');
      this.tally.endedAt.push(Date.now());
    } else count(this.tally.refused, String(status));
    this.isOpen = false;
    this.isWhole = false;
    const { returnTo, port } = this.options;
    if (returnTo === undefined && status === 200) return;
    const next = this.lastId === undefined ? port : (returnTo ?? port);
    setTimeout(() => {
      if (!this.isDone) this.stream = this.connect(next);
    }, this.retryMs);
  }

  private get tally(): Tally {
    return this.context.tally();
  }

  private connect(port: number): EventStream {
    const { key, path } = this.options;
    return new EventStream({ port, key, path, lastId: this.lastId }, this);
  }
}

function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
