/** The load client, a process of its own: puts one load after the other on a server, as its parent says. */
import { HttpConnection, type Reply } from './http-connection.js';
import { obey } from './orders.js';
import { requestText, type Form } from './request-form.js';
import { quantile } from './statistics.js';
import { targetsOf, type NextTarget, type Workload } from './workloads.js';

export interface Load {
  readonly port: number;
  readonly key: string;
  readonly workload: Workload;
  /** Markets in the database. */
  readonly markets: number;
  /** Whether to remember the ETag of each URL, and to send it. */
  readonly conditional: boolean;
  readonly form?: Form;
  readonly connections: number;
  /** Requests a second, come what may. Unset: as many as the connections carry, one at a time each. */
  readonly rate?: number;
  readonly seconds: number;
  /** Answers to wait for even if that takes longer: a server that is not warm tells nothing. */
  readonly atLeast?: number;
  readonly seed: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly bodyBytes: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<number, number>>;
}

class LoadRun {
  private readonly nextTarget: NextTarget;
  private readonly form: Form;
  private readonly etags = new Map<string, string>();
  private readonly latencies: number[] = [];
  private readonly statuses: Record<number, number> = {};
  private readonly idle: Lane[] = [];
  private readonly lanes: Lane[] = [];
  private readonly waiting: number[] = [];
  private bodyBytes = 0;
  private finish: () => void = () => undefined;
  private isOver = false;
  private readonly startedAt = performance.now();
  private readonly endsAt: number;

  constructor(private readonly load: Load) {
    this.form = load.form ?? 'plain';
    this.nextTarget = targetsOf(load.workload, load.markets, load.seed);
    this.endsAt = this.startedAt + load.seconds * 1000;
  }

  async run(): Promise<LoadResult> {
    try {
      await new Promise<void>((resolve, reject) => {
        for (let index = 0; index < this.load.connections; index++) {
          const answered = (reply: Reply) => this.answered(lane, reply);
          const lane: Lane = new Lane(this.load.port, this.form === 'HEAD', answered, reject);
          this.lanes.push(lane);
        }
        if (this.load.rate === undefined)
          for (const lane of this.lanes) this.ask(lane, performance.now());
        else this.offer(this.load.rate);
        this.finish = resolve;
        setTimeout(() => this.finishIfDone(), this.load.seconds * 1000);
      });
    } finally {
      this.isOver = true;
      for (const lane of this.lanes) lane.close();
    }
    return this.result();
  }

  private finishIfDone(): void {
    if (this.latencies.length >= (this.load.atLeast ?? 0)) this.finish();
  }

  /** Sends requests at a fixed rate; one that finds no idle connection waits, and its wait counts. */
  private offer(rate: number): void {
    this.idle.push(...this.lanes);
    let offered = 0;
    const tick = () => {
      if (this.isOver) return;
      const now = performance.now();
      const due = Math.floor(((now - this.startedAt) / 1000) * rate);
      for (; offered < due; offered++) {
        const at = this.startedAt + ((offered + 1) / rate) * 1000;
        // In turn: a connection that is never used, the server closes.
        const lane = this.idle.shift();
        if (lane) this.ask(lane, at);
        else this.waiting.push(at);
      }
      setTimeout(tick, 1);
    };
    tick();
  }

  private ask(lane: Lane, since: number): void {
    const target = this.nextTarget();
    const etag = this.load.conditional ? this.etags.get(target) : undefined;
    lane.ask(target, since, requestText(target, this.load.key, this.form, etag));
  }

  private answered(lane: Lane, { status, etag, bodyBytes }: Reply): void {
    const now = performance.now();
    this.latencies.push(now - lane.since);
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    this.bodyBytes += bodyBytes;
    if (this.load.conditional && status === 200 && etag) this.etags.set(lane.target, etag);
    if (now > this.endsAt) this.finishIfDone();
    if (this.load.rate === undefined) {
      this.ask(lane, now);
      return;
    }
    const since = this.waiting.shift();
    if (since === undefined) this.idle.push(lane);
    else this.ask(lane, since);
  }

  private result(): LoadResult {
    const seconds = (performance.now() - this.startedAt) / 1000;
    // Requests that were never sent count with the time that they waited.
    const stillWaiting = this.waiting.map((since) => performance.now() - since);
    const sorted = Float64Array.from([...this.latencies, ...stillWaiting]).toSorted();
    return {
      requests: this.latencies.length,
      seconds,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      bodyBytes: this.bodyBytes,
      statuses: this.statuses,
    };
  }
}

/** A connection and the request that is on it. */
class Lane {
  target = '';
  since = 0;
  private readonly connection: HttpConnection;

  constructor(
    port: number,
    asksForHeads: boolean,
    onReply: (reply: Reply) => void,
    onFailure: (error: Error) => void,
  ) {
    this.connection = new HttpConnection(port, onReply, onFailure, asksForHeads);
  }

  /** @param since when the request was due */
  ask(target: string, since: number, text: string): void {
    this.target = target;
    this.since = since;
    this.connection.send(text);
  }

  close(): void {
    this.connection.close();
  }
}

obey((load: Load) => new LoadRun(load).run());
