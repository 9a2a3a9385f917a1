import { Agent, get } from 'node:http';

/** What became of one request. Times in milliseconds, on the clock of `performance.now()`. */
export interface Outcome {
  readonly path: string;
  /** When it was due: what it waits in the client counts, too. */
  readonly at: number;
  readonly tookMs: number;
  /** 0: no whole answer. */
  readonly status: number;
  /** The problem's code, for answers of 400 and more. */
  readonly code?: string;
  readonly retryAfter?: string;
  /** Why there is no answer: an error's code such as ECONNRESET, or `no answer`. */
  readonly error?: string;
}

export interface Target {
  readonly port: number;
  /** One for all requests, or a new one for each. */
  readonly key?: string | (() => string);
}

export interface LoadOptions extends Target {
  /** Requests a second, sent whether or not earlier ones were answered. */
  readonly rate: number;
  /** What the n-th request, from 0, asks for. */
  readonly path: (n: number) => string;
  /** Ends by itself after so many requests. */
  readonly requests?: number;
}

/** A request that takes longer has no answer, in ms: far more than any bound allows. */
const PATIENCE_MS = 20_000;

/** Load by clients who don't wait for one another, as on the Internet. */
export class OpenLoop {
  readonly outcomes: Outcome[] = [];
  /** Resolves when the last of `requests` was answered. */
  readonly done: Promise<void>;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly startedAt = performance.now();
  private readonly watchers = new Set<(outcome: Outcome) => void>();
  private sent = 0;
  private limit: number;
  private timer: NodeJS.Timeout | undefined;
  private finish: () => void = () => undefined;

  constructor(private readonly options: LoadOptions) {
    this.limit = options.requests ?? Infinity;
    this.done = new Promise((resolve) => {
      this.finish = resolve;
    });
    this.offer();
  }

  /** Sends no more; resolves with all outcomes when all requests are answered. */
  async stop(): Promise<readonly Outcome[]> {
    this.limit = this.sent;
    this.finishIfDone();
    await this.done;
    return this.outcomes;
  }

  /** The first outcome from now on that is as wished. */
  next(isWished: (outcome: Outcome) => boolean): Promise<Outcome> {
    return new Promise((resolve) => {
      const watch = (outcome: Outcome) => {
        if (!isWished(outcome)) return;
        this.watchers.delete(watch);
        resolve(outcome);
      };
      this.watchers.add(watch);
    });
  }

  private offer(): void {
    const { rate, path, ...target } = this.options;
    const elapsed = performance.now() - this.startedAt;
    const due = Math.min(this.limit, Math.floor((elapsed / 1000) * rate));
    for (; this.sent < due; this.sent++) {
      const at = this.startedAt + ((this.sent + 1) / rate) * 1000;
      void ask(target, path(this.sent), { at, agent: this.agent }).then((outcome) => {
        this.outcomes.push(outcome);
        for (const watch of this.watchers) watch(outcome);
        this.finishIfDone();
      });
    }
    // A test that failed does not stop it.
    if (this.sent < this.limit) this.timer = setTimeout(() => this.offer(), 1).unref();
  }

  private finishIfDone(): void {
    if (this.outcomes.length < this.limit) return;
    clearTimeout(this.timer);
    this.agent.destroy();
    this.finish();
  }
}

/** Asks once. Never rejects: what goes wrong is an outcome as well. */
export function ask(
  { port, key }: Target,
  path: string,
  { at = performance.now(), agent }: { readonly at?: number; readonly agent?: Agent } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const settle = (outcome: Pick<Outcome, 'status' | 'code' | 'retryAfter' | 'error'>) =>
      resolve({ path, at, tookMs: performance.now() - at, ...outcome });
    const fail = (error: NodeJS.ErrnoException) =>
      settle({ status: 0, error: error.code ?? error.message });
    const headers = key ? { 'X-API-Key': typeof key === 'string' ? key : key() } : {};
    const asked = get(
      { host: '127.0.0.1', port, path, headers, agent: agent ?? false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          const retryAfter = response.headers['retry-after'];
          settle({ status, retryAfter, ...(status >= 400 && { code: codeOf(chunks) }) });
        });
      },
    );
    asked.setTimeout(PATIENCE_MS, () => asked.destroy(new Error('no answer')));
    asked.on('error', fail);
  });
}

function codeOf(chunks: readonly Buffer[]): string {
  try {
    const { code } = JSON.parse(Buffer.concat(chunks).toString()) as { code?: unknown };
    return typeof code === 'string' ? code : 'none';
  } catch {
    return 'none';
  }
}

/** How often each status (or error) was seen, with the problem's code: `{ '200': 9, '503 overloaded': 1 }`. */
export function tally(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, code, error } of outcomes) {
    const name = error ?? [status, code].filter(Boolean).join(' ');
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Whether a request was answered as it should be. */
export function isServed({ status }: Outcome): boolean {
  return status === 200 || status === 304;
}

/** The longest time from the end of one served request to the end of the next, in ms. */
export function longestGapMs(outcomes: readonly Outcome[]): number {
  const ends = outcomes.filter(isServed).map(({ at, tookMs }) => at + tookMs);
  ends.sort((one, other) => one - other);
  return Math.max(0, ...ends.slice(1).map((end, index) => end - (ends[index] ?? end)));
}

/** The duration that this share of the requests did not exceed, in ms: `quantileMs(outcomes, 0.99)`, 1 for the slowest. */
export function quantileMs(outcomes: readonly Outcome[], share: number): number {
  const sorted = outcomes.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
