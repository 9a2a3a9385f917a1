import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { REFUSALS } from '../api-keys/key-verifier.js';
import { VERSION } from '../common/version.js';

/** Where a request's time matters: most are answered from memory, and none may take more than 2.5 s. Seconds. */
const REQUEST_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5,
];

/** Rendering takes milliseconds: it is done at most this often, whoever asks. */
const RENDER_EVERY_MS = 1_000;

type GaugeFigure = readonly [help: string, read: () => number | Promise<number>];

/**
 * The figures at /metrics, in the words of Prometheus: those of requests here, others where they are known. No label
 * holds what a caller wrote, so the number of series is bounded. Each application has a registry of its own.
 */
export class Metrics {
  private rendered: { readonly at: number; readonly text: Promise<Buffer> } | undefined;
  readonly registry = new Registry();

  readonly requests = this.histogram(
    'http_request_duration_seconds',
    'Time from the arrival of a request until its answer was sent.',
    REQUEST_BUCKETS,
    ['method', 'route', 'status'],
  );
  readonly internalErrors = this.counter(
    'internal_errors_total',
    'Requests answered 500: nobody foresaw what went wrong.',
  );
  readonly authFailures = this.counter(
    'auth_failures_total',
    'Requests answered 401, by what was wrong with the key.',
    ['reason'],
  );
  readonly rateLimited = this.counter(
    'rate_limited_requests_total',
    'Requests answered 429 `rate_limited`, by whose limit they ran into.',
    ['limit'],
  );
  readonly shed = this.counter(
    'http_requests_shed_total',
    'Requests answered 503 `overloaded`, but for streams with a good key: the service had too much to do.',
  );
  readonly cacheHits = this.counter('markets_cache_hits_total', 'Look-ups answered from memory.');
  readonly cacheMisses = this.counter(
    'markets_cache_misses_total',
    'Look-ups answered from MongoDB.',
  );

  constructor(private readonly renderEveryMs = RENDER_EVERY_MS) {
    // Zero from the start: the rate of a series that is not there yet is not known.
    for (const reason of ['none', 'empty', ...REFUSALS]) this.authFailures.inc({ reason }, 0);
    for (const limit of ['key', 'address']) this.rateLimited.inc({ limit }, 0);
    new Gauge({
      name: 'markets_odds_build_info',
      help: 'Always 1; the label tells the version.',
      labelNames: ['version'],
      registers: [this.registry],
    }).set({ version: VERSION }, 1);
    collectDefaultMetrics({ register: this.registry });
  }

  /** All of them in the text format of Prometheus. */
  text(): Promise<Buffer> {
    const now = performance.now();
    if (!this.rendered || now - this.rendered.at >= this.renderEveryMs) {
      this.rendered = { at: now, text: this.registry.metrics().then((text) => Buffer.from(text)) };
    }
    return this.rendered.text;
  }

  counter<Label extends string>(name: string, help: string, labelNames: Label[] = []) {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  histogram<Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ) {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] });
  }

  /** Figures that are read at each scrape, so that they never go stale: help and value by name. */
  gauges(figures: Readonly<Record<string, GaugeFigure>>): void {
    for (const [name, [help, read]] of Object.entries(figures)) {
      const collect = async () => gauge.set(await read());
      const gauge: Gauge = new Gauge({ name, help, collect, registers: [this.registry] });
    }
  }
}
