import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import supertest from 'supertest';
import { generateKey, keyIdOf } from '../src/api-keys/key-form.js';
import { REFUSALS } from '../src/api-keys/key-verifier.js';
import { createApp } from '../src/app.setup.js';
import { Config } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { DRIVER_OPTIONS } from '../src/database/driver-options.js';
import { Problem } from '../src/http/problem.js';
import { PageReader } from '../src/markets/page-reader.js';
import { NO_MARKETS } from '../src/markets/stored-pages.js';
import { STREAM_ENDS } from '../src/markets/watch/stream-events.js';
import { createLogger } from '../src/telemetry/logger.js';
import { Metrics } from '../src/telemetry/metrics.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { RecordedSpans } from './recorded-spans.js';
import { sendRaw } from './raw-http.js';
import { inTime, until } from './until.js';

const FIXTURE_ROUTE = '/v1/markets/market/fixture/:fixtureId';

/** How long a line may take to come, before the test fails. */
const PATIENCE_MS = 5_000;

type Line = Record<string, unknown>;

/** Takes the log's lines, and can be asked for one that is still to come. */
class LogReader extends Writable {
  readonly texts: string[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.texts.push(chunk.toString());
    this.emit('line');
    done();
  }

  get lines(): Line[] {
    return this.texts.map((text) => JSON.parse(text) as Line);
  }

  async line(fields: Line): Promise<Line> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const found = this.lines.find((line) =>
        Object.entries(fields).every(([name, value]) => line[name] === value),
      );
      if (found) return found;
      await once(this, 'line', { signal });
    }
  }
}

interface LoggingApp {
  readonly app: NestExpressApplication;
  readonly url: string;
  readonly log: LogReader;
}

/** The application with the logger of the server, on the same database as `service`. */
async function createLoggingApp(overrides: Partial<Config>): Promise<LoggingApp> {
  const { mongodbUri } = service.config;
  const config: Config = Object.assign(new Config(), { mongodbUri, ...overrides });
  const log = new LogReader();
  const app = await createApp(config, createLogger(config, log), { metrics: new Metrics(0) });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { app, url: `http://127.0.0.1:${port}`, log };
}

let service: TestApp;
let metricsOf: (url: string) => Promise<string>;

beforeAll(async () => {
  service = await createTestApp();
  metricsOf = async (url) => (await supertest(url).get('/metrics').expect(200)).text;
});

afterAll(async () => {
  await service.close();
});

/** The value of one series; undefined when it is not there. */
function valueOf(metrics: string, series: string): number | undefined {
  const line = metrics.split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** How many changes the feed has told. */
async function changes(): Promise<number> {
  return valueOf(await metricsOf(service.url), 'change_feed_events_total') ?? 0;
}

/** The values that a label has anywhere. */
function labelValues(metrics: string, label: string): Set<string | undefined> {
  const found = metrics.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g'));
  return new Set([...found].map(([, value]) => value));
}

function requestsOf(method: string, route: string, status: number): string {
  return `http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;
}

describe('GET /metrics', () => {
  it('answers in the text format of Prometheus, without a key', async () => {
    const answer = await service.getOpen('/metrics').expect(200);
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
    for (const line of answer.text.trimEnd().split('\n')) {
      expect(line).toMatch(
        /^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? (-?[\d.]+(e[+-]?\d+)?|[+-]Inf|Nan))?$/i,
      );
    }
  });

  it('tells the version that runs', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    const { text } = await service.getOpen('/metrics').expect(200);
    expect(text).toContain(`\nmarkets_odds_build_info{version="${version}"} 1\n`);
  });

  it('answers HEAD, and refuses other methods with a problem', async () => {
    const head = await supertest(service.url).head('/metrics').expect(200);
    expect(head.text).toBeUndefined();
    expect(Number(head.headers['content-length'])).toBeGreaterThan(1_000);
    const post = await supertest(service.url).post('/metrics').expect(405);
    expect(post.headers).toMatchObject({
      allow: 'GET, HEAD',
      'content-type': 'application/problem+json',
    });
  });

  it('is in the OpenAPI document, open and as text', async () => {
    const { body } = await service.getOpen('/openapi.json').expect(200);
    const { get } = body.paths['/metrics'];
    expect(get.security ?? []).toEqual([]);
    expect(Object.keys(get.responses['200'].content)).toEqual(['text/plain']);
  });

  it('counts requests by method, template and status', async () => {
    const fixtureId = 'counted-fixture';
    const before = await metricsOf(service.url);
    await service.get(`/v1/markets/market/fixture/${fixtureId}`).expect(200);
    await service.get(`/v1/markets/market/fixture/${fixtureId}?take=0`).expect(400);
    await service.getOpen(`/v1/markets/market/fixture/${fixtureId}`).expect(401);
    const after = await metricsOf(service.url);
    const grownBy = (series: string) =>
      (valueOf(after, series) ?? 0) - (valueOf(before, series) ?? 0);
    expect(
      [200, 400, 401].map((status) => grownBy(requestsOf('GET', FIXTURE_ROUTE, status))),
    ).toEqual([1, 1, 1]);
    expect(grownBy('auth_failures_total{reason="none"}')).toBe(1);
    expect(grownBy('markets_cache_hits_total') + grownBy('markets_cache_misses_total')).toBe(1);
    expect(after).not.toContain(fixtureId);
  });

  it('has a series for each reason from the start, so that the rate of the first is known', async () => {
    const metrics = await metricsOf(service.url);
    const series = [
      ...['none', 'empty', ...REFUSALS].map((reason) => `auth_failures_total{reason="${reason}"}`),
      ...['key', 'address'].map((limit) => `rate_limited_requests_total{limit="${limit}"}`),
      ...STREAM_ENDS.map((reason) => `streams_ended_total{reason="${reason}"}`),
    ];
    expect(series.filter((each) => valueOf(metrics, each) === undefined)).toEqual([]);
  });

  it('counts a request that ran into its limit', async () => {
    const { key } = await service.keys.create({ name: 'slow', rateLimit: 1 });
    const before = valueOf(
      await metricsOf(service.url),
      'rate_limited_requests_total{limit="key"}',
    );
    const ask = () =>
      supertest(service.url).get('/v1/markets/market/fixture/x').set('X-API-Key', key);
    await ask().expect(200);
    await ask().expect(429);
    const after = valueOf(await metricsOf(service.url), 'rate_limited_requests_total{limit="key"}');
    expect(after).toBe((before ?? NaN) + 1);
  });

  it('counts what the service itself fails at, for which operators are called, and the log has the reason', async () => {
    const before = valueOf(await metricsOf(service.url), 'internal_errors_total');
    const fault = new Error('a fault of ours');
    jest.spyOn(service.app.get(PageReader), 'read').mockRejectedValueOnce(fault);
    const asking = service.get('/v1/markets/market/fixture/failing');
    await asking.set('X-Request-Id', 'failing').expect(500);
    const line = service.logged.find((text) => text.includes(fault.message)) ?? '';
    expect(JSON.parse(line)).toMatchObject({ level: 'error', requestId: 'failing' });
    const after = valueOf(await metricsOf(service.url), 'internal_errors_total');
    expect(after).toBe((before ?? NaN) + 1);
  });

  it('has one route for all unknown paths, and no label that a caller can choose', async () => {
    const unknown = [
      '/',
      '/nothing',
      '/v1/markets/market/fixture',
      '/%ff',
      '/metrics/x',
      '/docs/x',
    ];
    await Promise.all(unknown.map((path) => service.get(path).expect(404)));
    await supertest(service.url).patch('/surprise').expect(404);
    await service.getOpen('/docs').expect(200);
    await service.getOpen('/docs/swagger-ui.css').expect(200);
    const metrics = await metricsOf(service.url);
    expect(valueOf(metrics, requestsOf('GET', 'unknown', 404))).toBeGreaterThanOrEqual(6);
    expect(valueOf(metrics, requestsOf('other', 'unknown', 404))).toBe(1);
    const routes = [...labelValues(metrics, 'route')];
    expect(routes.filter((route) => !/^(unknown|\/[\w/:.-]+)$/.test(route ?? ''))).toEqual([]);
    for (const path of ['nothing', '%', 'surprise', '/metrics/x', '/docs/x']) {
      expect(routes.join()).not.toContain(path);
    }
    expect(labelValues(metrics, 'method')).toEqual(new Set(['GET', 'HEAD', 'other']));
  });

  it("tells of the driver's connections, the process and the event loop", async () => {
    const metrics = await metricsOf(service.url);
    const value = (series: string) => valueOf(metrics, series);
    const created = value('mongodb_pool_connections_created_total');
    expect(created).toBeGreaterThanOrEqual(2);
    expect(value('mongodb_pool_connections')).toBe(
      (created ?? 0) - (value('mongodb_pool_connections_closed_total') ?? 0),
    );
    expect(value('mongodb_pool_wait_queue_length')).toBe(0);
    expect(value('mongodb_pool_in_use_seconds_count')).toBeGreaterThan(0);
    expect(value('mongodb_up')).toBe(1);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(value('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
  });

  it('counts each change once, however often it is scraped', async () => {
    await store(service.database.connection, aMarket());
    await until(async () => (await changes()) > 0);
    // Another change may come in between, as of a key that was used.
    await until(async () => (await changes()) === (await changes()), 5_000);
  });

  it('counts all changes of a transaction', async () => {
    await store(service.database.connection, aMarket());
    await until(async () => (await changes()) > 0);
    const before = await changes();
    const { connection } = service.database;
    await connection.transaction((session) =>
      connection
        .collection('markets')
        .insertMany([aMarket(), aMarket(), aMarket()] as never[], { session }),
    );
    await until(async () => (await changes()) >= before + 3);
  });

  it('counts an operation to which the driver gave no connection', async () => {
    const failed = async () =>
      valueOf(await metricsOf(service.url), 'mongodb_pool_checkout_failures_total') ?? 0;
    const before = await failed();
    service.database.connection.getClient().emit('connectionCheckOutFailed', {} as never);
    expect(await failed()).toBe(before + 1);
  });

  it('counts reads that wait for a connection, and those that wait in vain', async () => {
    const { database } = service;
    const figure = async (name: string) => valueOf(await metricsOf(service.url), name) ?? 0;
    const waiting = () => figure('mongodb_pool_wait_queue_length');
    const failed = () => figure('mongodb_pool_checkout_failures_total');
    const before = await failed();
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const read = (budgetMs: number) => database.read(budgetMs, () => held);
    const reads = Promise.all(
      Array.from({ length: DRIVER_OPTIONS.maxPoolSize + 3 }, () => read(60_000)),
    );
    try {
      await expect(read(200)).rejects.toMatchObject({ code: 'overloaded' });
      expect(await waiting()).toBeGreaterThanOrEqual(3);
      expect(await failed()).toBeGreaterThan(before);
    } finally {
      release?.();
      await reads;
    }
    await until(async () => (await waiting()) === 0);
  });

  it('holds the figures of its own application only', async () => {
    const other = await createTestApp();
    try {
      expect(
        valueOf(await metricsOf(other.url), requestsOf('GET', FIXTURE_ROUTE, 200)),
      ).toBeUndefined();
    } finally {
      await other.close();
    }
  });
});

describe('the log', () => {
  let logging: LoggingApp;

  beforeAll(async () => {
    logging = await createLoggingApp({ logLevel: 'info' });
    await logging.app.get(Database).connectEventually();
  });

  afterAll(async () => {
    await logging.app.close();
  });

  const ask = (path: string, requestId: string) =>
    supertest(logging.url).get(path).set('X-Request-Id', requestId);

  it('has one line for a request that was answered', async () => {
    const fixtureId = 'logged-fixture';
    await store(service.database.connection, aMarket({ fixtureId }), aMarket({ fixtureId }));
    await ask(`/v1/markets/market/fixture/${fixtureId}?take=100`, 'answered')
      .set('X-API-Key', service.key)
      .expect(200);
    expect(await logging.log.line({ requestId: 'answered' })).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      requestId: 'answered',
      method: 'GET',
      route: FIXTURE_ROUTE,
      status: 200,
      durationMs: expect.any(Number),
      keyId: keyIdOf(service.key),
      source: expect.stringMatching(/^(memory|database)$/),
      items: 2,
      msg: 'request',
    });
    expect(logging.log.lines.filter(({ requestId }) => requestId === 'answered')).toHaveLength(1);
  });

  it.each([
    ['no key', '', 'none'],
    ['an empty key', '?api_key=', 'empty'],
    ['a malformed key', '?api_key=abc', 'malformed'],
    ['an unknown key', `?api_key=${generateKey()}`, 'unknown'],
  ])('says why %s was refused, and no more', async (_what, query, authFailure) => {
    const requestId = `refused-${authFailure}`;
    await ask(`/v1/markets/market/provider/x${query}`, requestId).expect(401);
    expect(await logging.log.line({ requestId })).toEqual({
      level: 'info',
      time: expect.any(String),
      requestId,
      method: 'GET',
      route: '/v1/markets/market/provider/:eventId',
      status: 401,
      durationMs: expect.any(Number),
      code: 'unauthorized',
      authFailure,
      msg: 'request',
    });
  });

  it('has the same route for every unknown path', async () => {
    await ask('/surprise/%ff', 'lost').expect(404);
    expect(await logging.log.line({ requestId: 'lost' })).toMatchObject({
      route: 'unknown',
      status: 404,
    });
  });

  it('has the template for a method that is not offered', async () => {
    const path = '/v1/markets/market/fixture/x';
    await supertest(logging.url).delete(path).set('X-Request-Id', 'refused-method').expect(405);
    expect(await logging.log.line({ requestId: 'refused-method' })).toMatchObject({
      route: FIXTURE_ROUTE,
      code: 'method_not_allowed',
    });
  });

  it('has a line for what the HTTP parser refused, and metrics count it', async () => {
    const [answer] = await sendRaw(Number(new URL(logging.url).port), 'NONSENSE\r\n\r\n');
    const requestId = answer?.headers.get('x-request-id');
    expect(await logging.log.line({ requestId })).toEqual({
      level: 'info',
      time: expect.any(String),
      requestId,
      method: 'unknown',
      route: 'unknown',
      status: 400,
      durationMs: 0,
      code: 'invalid_request',
      msg: 'request',
    });
    expect(valueOf(await metricsOf(logging.url), requestsOf('other', 'unknown', 400))).toBe(1);
  });

  it('a connection that its client resets counts as no refused request', async () => {
    const refused = requestsOf('other', 'unknown', 400);
    const countBefore = valueOf(await metricsOf(logging.url), refused);
    const server = logging.app.getHttpServer();
    const accepted = once(server, 'connection');
    const socket = connect(Number(new URL(logging.url).port), '127.0.0.1');
    await accepted;
    const reset = once(server, 'clientError');
    socket.resetAndDestroy();
    await reset;
    expect(valueOf(await metricsOf(logging.url), refused)).toBe(countBefore);
  });

  it('tells of a client that left', async () => {
    const { port } = new URL(logging.url);
    const socket = connect(Number(port), '127.0.0.1');
    const head = `GET /v1/markets/market/fixture/x HTTP/1.1\r\nHost: x\r\nX-API-Key: ${generateKey()}\r\n`;
    socket.write(`${head}X-Request-Id: left\r\n\r\n`);
    const [request] = (await once(logging.app.getHttpServer(), 'request')) as [IncomingMessage];
    // Its key is being looked up now.
    request.socket.destroy();
    expect(await logging.log.line({ requestId: 'left' })).toMatchObject({
      status: 499,
      aborted: true,
    });
  });

  it.each([
    ['a page', 'identity', 'market/fixture/x'],
    ['a compressed page', 'gzip', 'market/fixture/x'],
    ['changes that are compressed as it reads', 'gzip', 'changes?eventId=large'],
  ])('tells of a client that left in the midst of %s', async (what, encoding, target) => {
    // More than a connection holds, compressed as well.
    const markets = Array.from({ length: 12 }, () =>
      aMarket({ eventId: 'large', name: randomBytes(1_000_000).toString('base64') }),
    );
    if (target.startsWith('changes')) {
      await store(service.database.connection, ...markets);
      // Now it is in memory.
      await inTime(() => ask(`/v1/markets/${target}`, 'whole').set('X-API-Key', service.key));
    } else {
      const reader = jest.spyOn(logging.app.get(PageReader), 'read');
      reader.mockResolvedValueOnce({ markets, itemCount: markets.length });
    }
    const requestId = `left-${what.replaceAll(' ', '-')}`;
    const socket = connect(Number(new URL(logging.url).port), '127.0.0.1');
    const head = `GET /v1/markets/${target} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.key}\r\n`;
    socket.write(`${head}Accept-Encoding: ${encoding}\r\nX-Request-Id: ${requestId}\r\n\r\n`);
    await once(socket, 'readable');
    socket.destroy();
    expect(await logging.log.line({ requestId })).toMatchObject({ status: 200, aborted: true });
    await ask('/nothing', `after-${requestId}`).expect(404);
    await logging.log.line({ requestId: `after-${requestId}` });
    // It is no failure of the service.
    expect(logging.log.lines.filter((line) => line['requestId'] === requestId)).toHaveLength(1);
  });

  it('does not blame MongoDB for a stream that can not be had', async () => {
    const unordered = '/v1/markets/stream?eventId=%EF%BF%BD';
    await ask(unordered, 'no-stream').set('X-API-Key', service.key).expect(503);
    await logging.log.line({ requestId: 'no-stream', code: 'changes_unavailable' });
    await ask('/nothing', 'after-stream').expect(404);
    await logging.log.line({ requestId: 'after-stream' });
    // On a busy machine an earlier request may have been too slow for MongoDB.
    const ofStream = logging.log.lines.filter(({ code }) => code === 'changes_unavailable');
    expect(ofStream.map(({ level }) => level)).toEqual(['info']);
  });

  it('does not take a stream for too much work that is refused since all are taken', async () => {
    const full = await createLoggingApp({ streamsMax: 0 });
    try {
      await full.app.get(Database).connectEventually();
      await supertest(full.url)
        .get('/v1/markets/stream?eventId=e')
        .set({ 'X-API-Key': service.key, 'X-Request-Id': 'no-place' })
        .expect(503);
      expect(await full.log.line({ requestId: 'no-place' })).toMatchObject({
        level: 'info',
        code: 'overloaded',
      });
      expect(await metricsOf(full.url)).toContain('http_requests_shed_total 0\n');
    } finally {
      await full.app.close();
    }
  });

  it('blames a MongoDB that is too slow', async () => {
    const tooSlow = new Problem('database_timeout', 'MongoDB is too slow.');
    jest.spyOn(logging.app.get(PageReader), 'read').mockRejectedValueOnce(tooSlow);
    await ask('/v1/markets/market/fixture/slow', 'slow').set('X-API-Key', service.key).expect(504);
    const warning = await logging.log.line({ level: 'warn', code: 'database_timeout' });
    expect(warning['msg']).toBe('Requests fail: MongoDB is away or too slow');
  });

  it('counts the time of a pipelined request from the answer before it', async () => {
    const { app, url, log } = logging;
    const reader = jest.spyOn(app.get(PageReader), 'read');
    reader.mockImplementationOnce(() => delay(500, NO_MARKETS));
    const requests = ['/v1/markets/market/fixture/first', '/sent-ahead'].map(
      (path) =>
        `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.key}\r\nX-Request-Id: ${path.slice(-5)}\r\n\r\n`,
    );
    const answers = await sendRaw(Number(new URL(url).port), requests.join(''), { answers: 2 });
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    expect((await log.line({ requestId: 'first' }))['durationMs']).toBeGreaterThan(400);
    expect((await log.line({ requestId: 'ahead' }))['durationMs']).toBeLessThan(300);
    const metrics = await metricsOf(url);
    const ofLookUps = `method="GET",route="${FIXTURE_ROUTE}",status="200"}`;
    const seconds = valueOf(metrics, `http_request_duration_seconds_sum{${ofLookUps}`);
    expect(seconds).toBeGreaterThan(0.4);
    expect(seconds).toBeLessThan(100);
    // No answer may take longer.
    expect(metrics).toContain(`http_request_duration_seconds_bucket{le="2.5",${ofLookUps}`);
  });

  it('leaves probes and scrapes out until it is asked for more', async () => {
    await ask('/health/live', 'probe').expect(200);
    await ask('/metrics', 'scrape').expect(200);
    await ask('/nothing', 'after').expect(404);
    await logging.log.line({ requestId: 'after' });
    expect(logging.log.texts.join()).not.toMatch(/"(probe|scrape)"/);
  });

  it('tells of a probe that fails', async () => {
    const away = await createLoggingApp({ mongodbUri: undefined });
    try {
      await supertest(away.url).get('/health/ready').set('X-Request-Id', 'not-ready').expect(503);
      expect(await away.log.line({ requestId: 'not-ready' })).toMatchObject({
        level: 'info',
        route: '/health/ready',
        status: 503,
      });
    } finally {
      await away.app.close();
    }
  });

  it('never holds a key, whatever part of a request carried it', async () => {
    const keys = [service.key, generateKey()];
    for (const [index, key] of keys.entries()) {
      const requestId = `secret-${index}`;
      await supertest(logging.url).get(`/${key}?api_key=${key}&${key}=1#${key}`);
      await supertest(logging.url).get('/').set('X-Request-Id', key).set('Referer', `/?k=${key}`);
      await ask(`/v1/markets/market/fixture/${key}?${key}=${key}`, requestId)
        .set({ 'X-API-Key': key, Authorization: key, Cookie: key, 'User-Agent': key })
        .set({ traceparent: key, Referer: `http://x/?api_key=${key}` });
      await logging.log.line({ requestId });
    }
    const shown = logging.log.texts.join() + (await metricsOf(logging.url));
    for (const key of keys) {
      const secret = key.slice('mos_'.length + 12 + 1);
      for (let start = 0; start + 8 <= secret.length; start++) {
        expect(shown).not.toContain(secret.slice(start, start + 8));
      }
    }
  });

  it('says nothing below its level', async () => {
    const quiet = await createLoggingApp({
      logLevel: 'warn',
      mongodbUri: undefined,
    });
    try {
      await supertest(quiet.url).get('/nothing').expect(404);
      await supertest(quiet.url)
        .get('/v1/markets/market/fixture/x')
        .set('X-API-Key', generateKey())
        .expect(503);
      await quiet.log.line({ code: 'database_unavailable' });
      expect(new Set(quiet.log.lines.map(({ level }) => level))).toEqual(new Set(['warn']));
    } finally {
      await quiet.app.close();
    }
  });
});

it('a trace is that of the caller, and holds nothing of his words besides', async () => {
  const recorded = new RecordedSpans();
  const traced = await createTestApp({}, { tracing: recorded.api });
  try {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const words = { traceparent, baggage: 'user=somebody', tracestate: 'user=somebody' };
    const asking = traced.get('/v1/markets/market/fixture/f').set(words);
    const { headers } = await asking.expect(200);
    expect(recorded.spans).toEqual([
      {
        name: `GET ${FIXTURE_ROUTE}`,
        kind: recorded.api.SpanKind.SERVER,
        parent: { traceparent, tracestate: undefined, baggage: undefined },
        attributes: {
          'http.request.method': 'GET',
          'http.route': FIXTURE_ROUTE,
          'http.response.status_code': 200,
          'markets_odds.request_id': headers['x-request-id'],
          'markets_odds.key_id': keyIdOf(traced.key),
          'markets_odds.source': 'database',
        },
        status: undefined,
        isActive: true,
        isEnded: true,
      },
    ]);
    expect(JSON.stringify(recorded.spans)).not.toContain('somebody');
  } finally {
    await traced.close();
  }
});

it('a trace says that the service failed, and has no span of a stream, which lasts an hour', async () => {
  const recorded = new RecordedSpans();
  const traced = await createTestApp({}, { tracing: recorded.api });
  try {
    const fault = new Error('a fault of ours');
    jest.spyOn(traced.app.get(PageReader), 'read').mockRejectedValueOnce(fault);
    await traced.get('/v1/markets/market/fixture/failing').expect(500);
    const { ERROR } = recorded.api.SpanStatusCode;
    expect(recorded.spans).toMatchObject([{ status: ERROR, isEnded: true }]);
    const left = new AbortController();
    const [headers, { signal }] = [{ 'X-API-Key': traced.key }, left];
    const path = '/v1/markets/stream?eventId=e';
    await until(async () => (await fetch(traced.url + path, { headers, signal })).status === 200);
    left.abort();
    await until(() => traced.logged.some((line) => line.includes('"endReason":"left"')));
    const statuses = recorded.spans.map(
      ({ attributes, isEnded }) => isEnded && attributes['http.response.status_code'],
    );
    expect(statuses).not.toContain(200);
  } finally {
    await traced.close();
  }
});

it('a trace tells of a client that left without an answer', async () => {
  const recorded = new RecordedSpans();
  const traced = await createTestApp({}, { tracing: recorded.api });
  try {
    const socket = connect(traced.port, '127.0.0.1');
    const { key } = traced;
    socket.write(
      `GET /v1/markets/market/fixture/f HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\n\r\n`,
    );
    const [request] = (await once(traced.app.getHttpServer(), 'request')) as [IncomingMessage];
    // Its key is being looked up now.
    request.socket.destroy();
    await until(() => recorded.spans.some(({ isEnded }) => isEnded));
    const attributes = { 'http.response.status_code': 499 };
    // It is no failure of the service.
    expect(recorded.spans).toMatchObject([{ attributes, status: undefined }]);
  } finally {
    await traced.close();
  }
});

it('that there are no traces is said where no log is read', () => {
  const built = new URL('../dist/telemetry/tracing.js', import.meta.url).href;
  const script = `
    import { startTracing } from ${JSON.stringify(built)};
    await startTracing({ OTEL_TRACES_EXPORTER: 'console' });`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script],
    { encoding: 'utf8', timeout: 15_000 },
  );
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(stderr).toMatch(/^No traces, .*npm install --save-prod @opentelemetry\/sdk-node .*\n$/);
});

it('the last lines of the log are written, though the process ends at once', () => {
  const built = new URL('../dist/telemetry/logger.js', import.meta.url).href;
  const script = `
    import { createLogger } from ${JSON.stringify(built)};
    createLogger({ logLevel: 'info', logFormat: 'json' }).info('the last');
    process.exit(0);`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 15_000,
  });
  expect(JSON.parse(stdout)).toMatchObject({ msg: 'the last' });
});

it('a log for people holds nothing up while nobody reads it', async () => {
  const built = new URL('../dist/telemetry/logger.js', import.meta.url).href;
  const script = `
    import { createLogger } from ${JSON.stringify(built)};
    const logger = createLogger({ logLevel: 'info', logFormat: 'pretty' });
    for (let count = 0; count < 1_000; count += 1) logger.info('x'.repeat(1_000));
    setTimeout(() => process.stderr.write('goes on'), 20);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    expect(String(await once(child.stderr, 'data', { signal }))).toBe('goes on');
    expect(String(await once(child.stdout, 'data', { signal }))).toMatch(/INFO.*: .*x{1000}/);
  } finally {
    child.kill('SIGKILL');
  }
});

describe('while MongoDB is away', () => {
  it('the log warns of failing requests, without a line for each and without an error', async () => {
    const away = await createLoggingApp({
      mongodbUri: 'mongodb://127.0.0.1:1/x',
    });
    try {
      const ask = () =>
        supertest(away.url).get('/v1/markets/market/fixture/x').set('X-API-Key', service.key);
      const began = performance.now();
      for (let count = 0; count < 50; count += 1) await ask().expect(503);
      const seconds = (performance.now() - began) / 1_000;
      const warning = await away.log.line({ level: 'warn', code: 'database_unavailable' });
      expect(warning).toEqual({
        level: 'warn',
        time: expect.any(String),
        code: 'database_unavailable',
        count: 1,
        msg: 'Requests fail: MongoDB is away or too slow',
      });
      const warnings = away.log.lines.filter(({ level }) => level === 'warn');
      expect(warnings.length).toBeLessThanOrEqual(1 + seconds);
      expect(away.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
      expect(valueOf(await metricsOf(away.url), 'mongodb_up')).toBe(0);
      expect(valueOf(await metricsOf(away.url), requestsOf('GET', FIXTURE_ROUTE, 503))).toBe(50);
    } finally {
      await away.app.close();
    }
  });
});
