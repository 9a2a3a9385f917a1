import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey, withChecksum } from '../src/api-keys/key-form.js';
import type { Config } from '../src/config.js';
import { PageAnswer } from '../src/markets/page-answer.js';
import { FastPath } from '../src/markets/fast-path.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { metric } from './metric.js';
import { testDatabaseUri } from './mongo.js';
import { sendRaw } from './raw-http.js';
import { createTestRedis, hasRedis, type TestRedis } from './redis.js';
import { RecordedSpans } from './recorded-spans.js';
import { until } from './until.js';

const PATH = '/v1/markets/market/fixture/fast';
const EVENT = '/v1/markets/market/provider/fast-event';

interface Service extends TestApp {
  readonly spans: RecordedSpans;
  readonly answeredFast: () => number;
}

interface Pair {
  readonly withMemory: Service;
  readonly without: Service;
}

/** The pair made last is without further settings: Nest has one logger in a process, that of the last application. */
const PAIRS = ['with CORS', ...(hasRedis ? ['with Redis'] : []), 'without either'];

const pairs = new Map<string, Pair>();
let redis: TestRedis | undefined;
let withMemory: Service;
let without: Service;
let keys: Readonly<Record<string, string>>;
let etag: string;

beforeAll(async () => {
  const mongodbUri = testDatabaseUri();
  if (hasRedis) redis = await createTestRedis();
  for (const name of PAIRS) {
    // Each of the two has a database of Redis of its own, and so counts for itself.
    const settingsOf = (index: number): Partial<Config> => ({
      mongodbUri,
      corsOrigins: name === 'with CORS' ? ['https://odds.example'] : undefined,
      redisUrl: name === 'with Redis' ? `${redis?.url}/${index}` : undefined,
    });
    withMemory = await serviceOf(settingsOf(0));
    without = await serviceOf({ ...settingsOf(1), cacheMaxMb: 0 });
    pairs.set(name, { withMemory, without });
  }
  const markets = Array.from({ length: 12 }, (_, index) =>
    aMarket({
      fixtureId: 'fast',
      eventId: 'fast-event',
      marketMoment: index % 2 ? 'live' : 'prelive',
    }),
  );
  await store(withMemory.database.connection, ...markets);
  keys = await makeKeys();
  for (const { withMemory: service } of pairs.values())
    for (const path of [PATH, EVENT])
      for (let asked = 0; asked < 3; asked++) await ask(path, service);
  ({ etag = '' } = (await ask(PATH)).headers);
});

afterAll(async () => {
  for (const pair of pairs.values())
    for (const service of Object.values(pair)) await service.close();
  await redis?.close();
});

async function serviceOf(settings: Partial<Config>): Promise<Service> {
  const spans = new RecordedSpans();
  const service = await createTestApp(settings, { tracing: spans.api });
  const fastPath = service.app.get(FastPath);
  const answer = fastPath.answer.bind(fastPath);
  let answeredFast = 0;
  fastPath.answer = (request, response) => {
    const isAnswered = answer(request, response);
    if (isAnswered) answeredFast += 1;
    return isAnswered;
  };
  return { ...service, spans, answeredFast: () => answeredFast };
}

const ask = (path: string, service = withMemory) => service.get(path).expect(200);

async function makeKeys(): Promise<Record<string, string>> {
  const apiKeys = withMemory.keys;
  const create = async (options: object) =>
    (await apiKeys.create({ name: 'x', rateLimit: 0, ...options })).key;
  return {
    good: withMemory.key,
    other: await create({}),
    limited: await create({ rateLimit: 3 }),
    roomy: await create({ rateLimit: 1_000_000 }),
    expired: await create({ expiresInMs: 1 }),
    unknown: generateKey(),
    malformed: `${withMemory.key.slice(0, -1)}!`,
    part: withMemory.key.slice(20, 28),
    encoded: Buffer.from(withMemory.key).toString('hex').replaceAll(/../g, '%$&'),
  };
}

interface Variation {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  /** A `<name>` stands for the key of that name. */
  readonly headers?: readonly string[];
  readonly body?: string;
}

const HOST = 'Host: a';
const KEY = 'X-API-Key: <good>';
const BOTH = [HOST, KEY];

const VARIATIONS: readonly Variation[] = [
  ...['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'TRACE', 'BREW'].map((method) => ({ method })),
  ...[
    EVENT,
    `${PATH}?`,
    `${PATH}?&`,
    `${PATH}?page=1`,
    `${PATH}?page=2&take=5`,
    `${PATH}?take=101`,
    `${PATH}?take=5&take=5`,
    `${PATH}?marketMoment=live`,
    `${PATH}?marketMoment=live&marketMoment=prelive`,
    `${PATH}?market%4doment=live`,
    `${PATH}?nonsense=1`,
    `${PATH}?page=%zz`,
    `${PATH}/`,
    `${PATH}#x`,
    `http://a${PATH}`,
    `/v1/markets/market/fixture/%66ast`,
    `/v1/markets/market/fixture/fa%zzst`,
    `/V1/markets/market/fixture/fast`,
    `//v1/markets/market/fixture/fast`,
    '/v1/markets/market/fixture/nobody-has-it',
    `${PATH}?api_key=<good>`,
  ].map((target) => ({ target })),
  ...[
    `${PATH}?api_key=<good>`,
    `${PATH}?api_key=<good>&take=5`,
    `${PATH}?take=5&api_key=<good>`,
    `${PATH}?page=1&api_key=<good>&take=5`,
    `${PATH}?api_key=<good>&api_key=<good>`,
    `${PATH}?api_key=<good>&api_key=<other>`,
    `${PATH}?%61pi_key=<good>`,
    `${PATH}?%61pi_key=<encoded>`,
    `${PATH}?api_key=<encoded>`,
    `${PATH}?%61pi_key=<good>&api_key=<good>`,
    `${PATH}?api_key=`,
    `${PATH}?api_key`,
    `${PATH}?api_key=<good>x`,
    `${PATH}?api_key=<expired>`,
    `${PATH}?xapi_key=<good>`,
    `${PATH}&api_key=<good>`,
    `${PATH}?api_key=<good>?api_key=<good>`,
    PATH,
  ].map((target) => ({ target, headers: [HOST] })),
  ...['good', 'other', 'limited', 'roomy', 'expired', 'unknown', 'malformed'].map((key) => ({
    headers: [HOST, `X-API-Key: <${key}>`],
  })),
  ...[
    [HOST, KEY, KEY],
    [HOST, 'X-API-Key:'],
    [HOST, 'x-api-key:   <good>  '],
    [KEY],
    [HOST, HOST, KEY],
    ['Host:', KEY],
    ['Host: user@a', KEY],
    ...[
      'Accept-Encoding: gzip, deflate, br',
      'Accept-Encoding: gzip',
      'Accept-Encoding: br;q=0.1, gzip;q=0.9',
      'Accept-Encoding: *;q=0',
      'Accept-Encoding: identity;q=0',
      'Accept-Encoding:',
      `Accept-Encoding: ${'x,'.repeat(2_000)}`,
      'If-None-Match: <etag>',
      'If-None-Match: "other", <etag>',
      'If-None-Match: *',
      'If-None-Match: "other"',
      'If-Modified-Since: Sat, 21 Nov 2026 07:03:00 GMT',
      'If-Match: "other"',
      'Range: bytes=0-9',
      'X-Request-Id: mine',
      'X-Request-Id: not sane',
      'X-Request-Id: <good>',
      'X-Request-Id: x<part>x',
      'Connection: close',
      'Connection: Upgrade\r\nUpgrade: h2c',
      'Expect: 100-continue',
      'Expect: more',
      'Content-Length: 0',
      'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'baggage: a=b',
      'Origin: https://odds.example',
      'Origin: https://odds.example\r\nAccept-Encoding: br',
      'Origin: https://odds.example\r\nIf-None-Match: <etag>',
      'Origin: https://elsewhere.example',
      'Origin: https://odds.example\r\nOrigin: https://elsewhere.example',
      'Accept: text/html',
      'X-HTTP-Method-Override: DELETE',
      'X-Forwarded-For: 1.2.3.4',
    ].map((header) => [...BOTH, header]),
  ].map((headers) => ({ headers })),
  { target: `${PATH}?api_key=<good>`, headers: [HOST, 'X-API-Key:'] },
  { target: `${PATH}?api_key=<good>`, headers: [HOST, 'X-Request-Id: x<part>x'] },
  { headers: [...BOTH, 'Content-Length: 2'], body: '{}' },
  { headers: [...BOTH, 'Transfer-Encoding: chunked'], body: '2\r\n{}\r\n0\r\n\r\n' },
  { version: 'HTTP/1.0' },
  { version: 'HTTP/1.0', headers: [...BOTH, 'Connection: keep-alive', 'Accept-Encoding: br'] },
  { version: 'HTTP/2.0' },
  { method: 'HEAD', headers: [...BOTH, 'Accept-Encoding: br'] },
  { method: 'HEAD', headers: [...BOTH, 'If-None-Match: <etag>'] },
  { method: 'HEAD', headers: [HOST, 'X-API-Key: <limited>'] },
];

function bytesOf({ body = '', method = 'GET', target = PATH, version, headers }: Variation) {
  const lines = (headers ?? BOTH).map((header) => `${header}\r\n`).join('');
  const request = `${method} ${target} ${version ?? 'HTTP/1.1'}\r\n${lines}\r\n${body}`;
  return request
    .replaceAll('<etag>', etag)
    .replaceAll(/<(\w+)>/g, (whole, name: string) => keys[name] ?? whole);
}

/** Without what differs from one request to the next: the date, an id of ours, seconds left. */
function comparable(text: string): string {
  return text
    .replace(/^Date: .*$/m, 'Date')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'an id')
    .replace(/;t=\d+/, ';t')
    .replace(/^Retry-After: \d+$/m, 'Retry-After');
}

async function answerOf(service: TestApp, variation: Variation): Promise<unknown> {
  const bodiless = variation.method === 'HEAD';
  const [answer] = await sendRaw(service.port, bytesOf(variation), { bodiless });
  return answer && { head: comparable(answer.head), body: comparable(answer.body) };
}

/** The log's lines on requests, without times and where an answer came from. */
function logged({ logged: lines }: TestApp): unknown[] {
  return lines
    .map((line) => JSON.parse(comparable(line)) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'request')
    .map((line) => ({ ...line, time: 0, durationMs: 0, source: '' }));
}

/** What OpenTelemetry was told of, but for ids of ours and where an answer came from. */
function traced({ spans: recorded }: RecordedSpans): unknown[] {
  return recorded.map((span) => {
    const { 'markets_odds.source': _source, ...attributes } = span.attributes;
    return JSON.parse(comparable(JSON.stringify({ ...span, attributes })));
  });
}

it.each(VARIATIONS.map((variation) => [JSON.stringify(variation).slice(0, 120), variation]))(
  'answers as the slow path does: %s',
  async (_name, variation) => {
    for (const pair of pairs.values()) await expectEqualAnswers(pair, variation as Variation);
  },
);

async function expectEqualAnswers(pair: Pair, variation: Variation): Promise<void> {
  for (const { logged: lines, spans } of Object.values(pair)) {
    lines.splice(0);
    spans.spans.splice(0);
  }
  for (let asked = 0; asked < 4; asked++) {
    const full = await answerOf(pair.without, variation);
    expect(full).toBeDefined();
    expect(await answerOf(pair.withMemory, variation)).toEqual(full);
  }
  expect(logged(pair.withMemory)).toEqual(logged(pair.without));
  expect(traced(pair.withMemory.spans)).toEqual(traced(pair.without.spans));
}

it.each(PAIRS)(
  'answers most plain requests by the fast path, and counts them as the slow path does: %s',
  async (name) => {
    const service = pairs.get(name)!.withMemory;
    // On a busy machine what is in memory may for a moment not be known to be current.
    await until(async () => {
      const before = service.answeredFast();
      const hitsBefore = await hits(service);
      for (let asked = 0; asked < 10; asked++) await ask(PATH, service);
      return service.answeredFast() - before === 10 && (await hits(service)) - hitsBefore === 10;
    });
  },
);

it('answers 500 and says why when an answer can not be compressed, and goes on', async () => {
  const compress = jest.spyOn(PageAnswer.prototype, 'compress');
  try {
    await until(async () => {
      const before = withMemory.answeredFast();
      compress.mockImplementationOnce(() => Promise.reject(new Error('no memory')));
      const { body } = await withMemory.get(PATH).expect(500);
      expect(body.code).toBe('internal_error');
      await until(() =>
        without.logged.some(
          (line) => line.includes('Unforeseen failure') && line.includes(body.requestId),
        ),
      );
      return withMemory.answeredFast() > before;
    });
  } finally {
    compress.mockRestore();
  }
  await ask(PATH);
});

it('opens to no other secret of a key that came by the same connection', async () => {
  const ofSameId = withChecksum(`${withMemory.key.slice(0, 17)}${generateKey().slice(17, 49)}`);
  const bytes = [withMemory.key, ofSameId].map((key) =>
    bytesOf({ headers: [HOST, `X-API-Key: ${key}`] }),
  );
  const answers = await sendRaw(withMemory.port, bytes.join(''), { answers: 2 });
  expect(answers.map(({ status }) => status)).toEqual([200, 401]);
});

it('remembers no key', () => {
  const { known } = withMemory.app.get(FastPath);
  expect([...known.keys()]).toContain(`${PATH}?take=5`);
  for (const target of known.keys()) expect(target).not.toMatch(/mos_|api_key|%6d/);
});

it('remembers no long target: thousands of them would fill memory', async () => {
  const long = `${PATH}?provider=${'p'.repeat(256)}&marketStatus=${'s'.repeat(256)}`;
  await until(async () => {
    const before = await hits();
    await ask(long);
    return (await hits()) > before;
  });
  expect([...withMemory.app.get(FastPath).known.keys()]).not.toContain(long);
});

it('stops when the key is revoked, and tells each change', async () => {
  const apiKeys = withMemory.keys;
  const { key, record } = await apiKeys.create({ name: 'fast', rateLimit: 0 });
  const status = async () => (await withMemory.getOpen(`${PATH}?api_key=${key}`)).status;
  expect(await status()).toBe(200);
  await apiKeys.revoke(record._id);
  const revokedAt = performance.now();
  await until(async () => (await status()) !== 200);
  expect(performance.now() - revokedAt).toBeLessThan(3_000);

  const { itemCount } = await countOf();
  await store(withMemory.database.connection, aMarket({ fixtureId: 'fast' }));
  await delay(250);
  expect((await countOf()).itemCount).toBe(itemCount + 1);
});

const hits = (service = withMemory) => metric(service, 'markets_cache_hits_total');

async function countOf(): Promise<{ itemCount: number }> {
  return ((await ask(PATH)).body as { meta: { itemCount: number } }).meta;
}
