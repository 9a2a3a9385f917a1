/** The storm, a process of its own: requests that come at their rate, whatever becomes of the earlier ones. */
import { HttpConnection } from './http-connection.js';
import { obey } from './orders.js';
import { quantile } from './statistics.js';
import { targetsOf, type Workload } from './workloads.js';

export interface Storm {
  readonly port: number;
  readonly key: string;
  readonly workload: Workload;
  /** Markets in the database. */
  readonly markets: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Open at a time, at most. A request that finds none is not sent. */
  readonly connections: number;
}

export interface StormResult {
  readonly seconds: number;
  /** Requests that were due, and those that found a connection. */
  readonly due: number;
  readonly sent: number;
  readonly served: Latencies;
  /** Requests of the storm that were served when it was over. */
  readonly servedLater: number;
  readonly refused: Latencies;
  /** Requests with another answer, or none. */
  readonly lost: number;
}

/** Milliseconds, from the moment at which a request was sent. */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

/** Opened so many at a time, before the storm. */
const OPENED_AT_ONCE = 100;

/** What has no answer so long after the storm is lost. Milliseconds. */
const PATIENCE_MS = 3_000;

class StormRun {
  private readonly served: number[] = [];
  private readonly refused: number[] = [];
  /** In the order in which they became so: one that is never used is closed by the server. */
  private readonly idle = new Set<Lane>();
  private readonly lanes = new Set<Lane>();
  /** With the moments at which they were asked. */
  private readonly asked = new Map<Lane, number>();
  private due = 0;
  private sent = 0;
  private readonly nextTarget: () => string;

  constructor(private readonly storm: Storm) {
    this.nextTarget = targetsOf(storm.workload, storm.markets, 1);
  }

  async run(): Promise<StormResult> {
    const { seconds } = this.storm;
    await this.openAll();
    const startedAt = performance.now();
    await new Promise<void>((resolve) => {
      const offer = () => {
        const elapsed = performance.now() - startedAt;
        if (elapsed > seconds * 1000) {
          resolve();
          return;
        }
        const due = Math.floor((elapsed / 1000) * this.storm.perSecond);
        for (; this.due < due; this.due++) this.send();
        setTimeout(offer, 1);
      };
      offer();
    });
    const served = latencies(this.served);
    const givesUpAt = performance.now() + PATIENCE_MS;
    while (this.asked.size > 0 && performance.now() < givesUpAt) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const lane of this.lanes) lane.close();
    return {
      seconds,
      due: this.due,
      sent: this.sent,
      served,
      servedLater: this.served.length - served.count,
      refused: latencies(this.refused),
      lost: this.sent - this.served.length - this.refused.length,
    };
  }

  private send(): void {
    const lane = this.nextIdle();
    if (!lane) return;
    this.sent += 1;
    this.asked.set(lane, performance.now());
    lane.ask(this.nextTarget());
  }

  private async openAll(): Promise<void> {
    const { connections } = this.storm;
    for (let opened = 0; opened < connections; opened += OPENED_AT_ONCE) {
      const length = Math.min(OPENED_AT_ONCE, connections - opened);
      const lanes = Array.from({ length }, () => this.open());
      await Promise.all(lanes.map((lane) => lane.opened));
      for (const lane of lanes) this.idle.add(lane);
    }
  }

  private nextIdle(): Lane | undefined {
    for (const lane of this.idle) {
      this.idle.delete(lane);
      return lane;
    }
    return undefined;
  }

  private open(): Lane {
    const lane = new Lane(this.storm, (status) => this.over(lane, status));
    this.lanes.add(lane);
    return lane;
  }

  private over(lane: Lane, status: number | undefined): void {
    const askedAt = this.asked.get(lane);
    if (askedAt === undefined) return;
    const tookMs = performance.now() - askedAt;
    if (status === 200) this.served.push(tookMs);
    if (status === 503) this.refused.push(tookMs);
    this.asked.delete(lane);
    if (status !== undefined) {
      this.idle.add(lane);
      return;
    }
    this.lanes.delete(lane);
    lane.close();
  }
}

/** A connection with one request at a time. */
class Lane {
  private readonly connection: HttpConnection;
  private readonly head: string;

  /** @param onOver told the status of each answer, or that there is none */
  constructor(
    { port, key }: Storm,
    private readonly onOver: (status: number | undefined) => void,
  ) {
    this.head = ` HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`;
    this.connection = new HttpConnection(
      port,
      ({ status }) => this.onOver(status),
      () => this.onOver(undefined),
    );
  }

  ask(target: string): void {
    this.connection.send(`GET ${target}${this.head}`);
  }

  get opened(): Promise<unknown> {
    return this.connection.opened;
  }

  close(): void {
    this.connection.close();
  }
}

function latencies(values: readonly number[]): Latencies {
  const sorted = Float64Array.from(values).toSorted();
  const [p50, p99] = [quantile(sorted, 0.5), quantile(sorted, 0.99)];
  return { count: sorted.length, p50, p99, most: sorted.at(-1) ?? NaN };
}

obey((storm: Storm) => new StormRun(storm).run());
