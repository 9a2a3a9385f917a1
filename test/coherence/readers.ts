import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { History, Lookup, Verdict } from './history.js';
import { comparable, type ScopeName } from './model-market.js';
import type { Random } from '../random.js';
import type { Plot } from './writer.js';

/** What became of one request. */
export interface Outcome {
  readonly url: string;
  readonly start: number;
  readonly end: number;
  /** 200 and 304 are judged; 0: no answer at all. */
  readonly status: number;
  readonly verdict?: Verdict;
  /** What was shown, where it is of no state that ever was. */
  readonly body?: string;
}

interface Target {
  readonly url: string;
  readonly key: string;
}

interface Response {
  readonly status: number;
  readonly etag: string;
  readonly body: string;
}

/** A request that takes longer than this has no answer, in ms: more than any bound allows. */
const PATIENCE_MS = 20_000;

const REMEMBERED_ANSWERS = 2_000;
const REMEMBERED_FORMS = 20_000;

/** Clients that look up random pages over their own connections, and have each answer judged. */
export class Readers {
  private readonly agent: Agent;
  private readonly remembered = new Map<string, Response>();
  private readonly forms = new Map<string, string>();
  private readonly scopes: readonly ScopeName[];
  private stopped = false;
  private readonly loops: Promise<void>[];

  /** @param report gets the outcome of every request */
  constructor(
    private readonly target: Target,
    plots: readonly Plot[],
    private readonly history: History,
    private readonly random: Random,
    connections: number,
    private readonly report: (outcome: Outcome) => void,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.scopes = plots.flatMap(({ events, fixtures }) => [
      ...events.map((id) => `event:${id}` as const),
      ...fixtures.map((id) => `fixture:${id}` as const),
    ]);
    this.loops = Array.from({ length: connections }, () => this.readOn());
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.loops);
    this.agent.destroy();
  }

  private async readOn(): Promise<void> {
    while (!this.stopped) {
      await this.readOnce();
      await delay(this.random.below(4));
    }
  }

  private async readOnce(): Promise<void> {
    const lookup = this.aLookup();
    const url = urlOf(lookup);
    const known = this.random.chance(0.3) ? this.remembered.get(url) : undefined;
    const start = performance.now();
    const response = await this.ask(url, known?.etag).catch((error: unknown) => noAnswer(error));
    const end = performance.now();
    const { status } = response;
    const shown = status === 304 ? known : response;
    if (!shown || (status !== 200 && status !== 304)) {
      this.report({ url, start, end, status, body: response.body });
      return;
    }
    if (status === 200) this.remember(url, response);
    const { data, meta } = JSON.parse(shown.body) as { data: unknown[]; meta: object };
    const markets = data.map((market) => this.comparable(market));
    const verdict = this.history.judge({
      lookup,
      shown: { markets, meta: { ...meta } },
      start,
      end,
    });
    const isOfNoState = verdict.staleMs === undefined;
    this.report({ url, start, end, status, verdict, ...(isOfNoState && { body: shown.body }) });
  }

  /** Most markets look as they did when they were last read. */
  private comparable(market: unknown): string {
    const text = JSON.stringify(market);
    const form = this.forms.get(text) ?? comparable(market);
    if (this.forms.size >= REMEMBERED_FORMS) this.forms.clear();
    this.forms.set(text, form);
    return form;
  }

  private remember(url: string, response: Response): void {
    if (this.remembered.size >= REMEMBERED_ANSWERS) this.remembered.clear();
    this.remembered.set(url, response);
  }

  private aLookup(): Lookup {
    return {
      scope: this.random.pick(this.scopes),
      page: this.random.chance(0.7) ? 1 : 1 + this.random.below(4),
      take: this.random.pick([1, 3, 10, 10, 25, 100]),
      ...(this.random.chance(0.3) && { marketMoment: this.random.pick(['live', 'prelive']) }),
      ...(this.random.chance(0.2) && { marketType: this.random.pick(['BTTS', 'OVER_UNDER']) }),
    };
  }

  private ask(path: string, etag: string | undefined): Promise<Response> {
    return new Promise((resolve, reject) => {
      const headers = { 'X-API-Key': this.target.key, ...(etag && { 'If-None-Match': etag }) };
      const asked = request(this.target.url + path, { agent: this.agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            etag: response.headers.etag ?? '',
            body: Buffer.concat(chunks).toString(),
          }),
        );
      });
      asked.setTimeout(PATIENCE_MS, () => asked.destroy(new Error('no answer')));
      asked.on('error', reject).end();
    });
  }
}

function noAnswer(error: unknown): Response {
  return { status: 0, etag: '', body: String(error) };
}

function urlOf({ scope, page, take, marketMoment, marketType }: Lookup): string {
  const kind = scope.startsWith('event:') ? 'provider' : 'fixture';
  const id = encodeURIComponent(scope.slice(scope.indexOf(':') + 1));
  const query = new URLSearchParams({
    page: String(page),
    take: String(take),
    ...(marketMoment && { marketMoment }),
    ...(marketType && { marketType }),
  });
  return `/v1/markets/market/${kind}/${id}?${query.toString()}`;
}
