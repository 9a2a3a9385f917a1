import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Where a request's time matters: most are answered from memory, and none may take more than 2.5 s. Seconds. */
const REQUEST_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5,
];
const STREAM_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1, 10];
const COMMAND_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2];

/** Why keys are refused, as in the log. */
export const AUTH_FAILURES = [
  'none',
  'empty',
  'malformed',
  'unknown',
  'revoked',
  'expired',
] as const;

/** Whose limit a request ran into: its key's, or that of the address for refused keys. */
export const LIMITS = ['key', 'address'] as const;

/** Rendering takes milliseconds: it is done at most this often, whoever asks. */
const RENDER_EVERY_MS = 1_000;

/** A figure that is read at each scrape: assign `read` once, and it never goes stale. */
export interface ReadFigure {
  read: () => number;
}

/**
 * Every figure of our own at /metrics, in the words of Prometheus. No label holds what a caller wrote, so
 * the number of series is bounded. Each application has a registry of its own.
 */
export class Metrics {
  private rendered: { readonly at: number; readonly text: Promise<Buffer> } | undefined;
  readonly registry = new Registry();

  readonly requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request until its answer was sent.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: REQUEST_BUCKETS,
    registers: [this.registry],
  });
  readonly internalErrors = this.counter(
    'internal_errors_total',
    'Requests answered 500: nobody foresaw what went wrong.',
  );
  readonly authFailures = new Counter({
    name: 'auth_failures_total',
    help: 'Requests answered 401, by what was wrong with the key.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  readonly rateLimited = new Counter({
    name: 'rate_limited_requests_total',
    help: 'Requests answered 429, by whose limit they ran into.',
    labelNames: ['limit'] as const,
    registers: [this.registry],
  });
  readonly shed = this.counter(
    'http_requests_shed_total',
    'Requests answered 503 `overloaded`: there was too much to do.',
  );

  readonly cacheHits = this.counter('markets_cache_hits_total', 'Look-ups answered from memory.');
  readonly cacheMisses = this.counter(
    'markets_cache_misses_total',
    'Look-ups answered from MongoDB.',
  );
  readonly cacheBytes = this.gauge('markets_cache_bytes', 'Memory held by remembered markets.');
  readonly cacheScopes = this.gauge(
    'markets_cache_scopes',
    'Events and fixtures whose markets are remembered.',
  );

  readonly changeFeedUp = this.gauge(
    'change_feed_up',
    '1 while the change feed tells what changes in MongoDB, else 0.',
  );
  readonly changeFeedEvents = this.readCounter(
    'change_feed_events_total',
    'Changes that the feed has told.',
  );
  readonly changeFeedLag = this.gauge(
    'change_feed_lag_seconds',
    'Time from the newest change in MongoDB until the feed told it.',
  );
  readonly changeFeedAge = this.gauge(
    'change_feed_age_seconds',
    'Time since the feed was last known to have told everything.',
  );
  readonly changeFeedMajorityLag = this.gauge(
    'change_feed_majority_lag_seconds',
    'How long the primary has had writes that a majority of the members has not; 0 while it has none.',
  );

  readonly streamsOpen = this.gauge('streams_open', 'Streams of changes that are open.');
  readonly streamsOpened = this.counter('streams_opened_total', 'Streams of changes opened.');
  readonly streamsEnded = new Counter({
    name: 'streams_ended_total',
    help: 'Streams of changes that ended, by why.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  readonly streamEvents = this.counter(
    'stream_events_total',
    'Events with changes written to streams.',
  );
  readonly streamConflated = this.counter(
    'stream_changes_conflated_total',
    'Changes that a stream was told together with others, beyond the first.',
  );
  readonly streamLag = new Histogram({
    name: 'stream_lag_seconds',
    help: 'Time from a commit in MongoDB until it was written to a stream.',
    buckets: STREAM_BUCKETS,
    registers: [this.registry],
  });
  readonly watchBytes = this.gauge('watch_bytes', 'Memory held by events and fixtures watched.');

  readonly mongodbUp = this.gauge('mongodb_up', '1 while some MongoDB server can be read, else 0.');
  readonly poolConnections = this.gauge(
    'mongodb_pool_connections',
    'Open connections to MongoDB, those in use included.',
  );
  readonly poolInUse = this.gauge(
    'mongodb_pool_connections_in_use',
    'Connections to MongoDB that are in use.',
  );
  readonly poolWaiting = this.gauge(
    'mongodb_pool_wait_queue_length',
    'Operations that wait for a connection.',
  );
  readonly poolCreated = this.counter(
    'mongodb_pool_connections_created_total',
    'Connections to MongoDB that were opened.',
  );
  readonly poolClosed = this.counter(
    'mongodb_pool_connections_closed_total',
    'Connections to MongoDB that were closed, for whatever reason.',
  );
  readonly poolCheckoutFailures = this.counter(
    'mongodb_pool_checkout_failures_total',
    'Operations that got no connection.',
  );
  readonly poolInUseTime = new Histogram({
    name: 'mongodb_pool_in_use_seconds',
    help: 'Time that an operation kept its connection: its command, from sending to the answer.',
    buckets: COMMAND_BUCKETS,
    registers: [this.registry],
  });

  constructor(private readonly renderEveryMs = RENDER_EVERY_MS) {
    // Zero from the start: the rate of a series that is not there yet is not known.
    for (const reason of AUTH_FAILURES) this.authFailures.inc({ reason }, 0);
    for (const limit of LIMITS) this.rateLimited.inc({ limit }, 0);
    collectDefaultMetrics({ register: this.registry });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** All of them in the text format of Prometheus. */
  text(): Promise<Buffer> {
    const now = performance.now();
    if (!this.rendered || now - this.rendered.at >= this.renderEveryMs) {
      this.rendered = { at: now, text: this.registry.metrics().then((text) => Buffer.from(text)) };
    }
    return this.rendered.text;
  }

  private counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.registry] });
  }

  private gauge(name: string, help: string): ReadFigure {
    const source: ReadFigure = { read: () => 0 };
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.registry],
      collect: (): void => gauge.set(source.read()),
    });
    return source;
  }

  private readCounter(name: string, help: string): ReadFigure {
    const source: ReadFigure = { read: () => 0 };
    const counter: Counter = new Counter({
      name,
      help,
      registers: [this.registry],
      collect: (): void => {
        counter.reset();
        counter.inc(source.read());
      },
    });
    return source;
  }
}
