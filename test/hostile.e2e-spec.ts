import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../src/api-keys/key-form.js';
import { KeyRecords } from '../src/api-keys/key-records.js';
import type { RequestFault } from '../src/http/problem-body.dto.js';
import { createTestApp, type TestApp } from './app.js';
import { hostileCredentials } from './hostile/credentials.js';
import { hostileInput, hostilePaths } from './hostile/input.js';
import { hostileProtocol } from './hostile/protocol.js';
import { KEYS, malformed, SENTINEL, wire } from './hostile/request.js';
import type { Expected, HostileRequest, Lookup } from './hostile/request.js';
import { LOOKUPS } from './lookups.js';
import { testDatabaseUri } from './mongo.js';
import { monitored, readsDuring } from './mongo-commands.js';
import { openSockets, readAnswers, sendRaw, type RawAnswer } from './raw-http.js';
import { until } from './until.js';

/** Longer than the server's bounds on headers, and on when it looks. Milliseconds. */
const HEADERS_TOO_LATE_MS = 5_000 + 500 + 1_000;

const TARGETS: readonly Lookup[] = LOOKUPS.map((lookup) => ({
  ...lookup,
  path: `${lookup.route}/${SENTINEL}`,
}));

let service: TestApp;
let keys: ReadonlyMap<string, string>;
let slow: Promise<{ answers: RawAnswer[]; tookMs: number }>[];

beforeAll(async () => {
  service = await createTestApp({
    mongodbUri: monitored(testDatabaseUri()),
    authFailuresPerMinute: 0,
  });
  keys = await makeKeys();
  const path = TARGETS[0]?.path ?? '';
  slow = [
    sendSlowly([`GET ${path} HTTP/1.1\r\nHost: a\r\n`]),
    sendSlowly([]),
    sendSlowly(wire(path).split('').slice(0, -2)),
  ];
});

afterAll(async () => {
  await Promise.allSettled(slow);
  await service.close();
});

describe.each(TARGETS)('GET $route/{$id}, when the request is hostile', (lookup) => {
  const requests = hostileRequests(lookup);

  it.each(requests)('answers $name as it deserves', async ({ bytes, answers }) => {
    let received: RawAnswer[] = [];
    const reads = await readsDuring(service.database.connection, async () => {
      received = await sendRaw(service.port, withKeys(bytes), { answers: answers.length });
    });

    expect(received.map(({ status }) => status)).toEqual(answers.map(({ status }) => status));
    for (const [index, expected] of answers.entries()) expectAnswer(received[index], expected);
    const mayRead = answers.some(({ status, inBody }) => status === 200 || inBody);
    const marketReads = reads.filter(({ find, aggregate }) => (find ?? aggregate) === 'markets');
    expect(mayRead ? [] : marketReads).toEqual([]);
  });

  it('sends MongoDB nothing at all for requests without a well-formed key', async () => {
    const keyless = requests.filter(({ bytes }) => !KEYS.some((name) => bytes.includes(name)));
    // Keys of earlier requests are read again in the background.
    const records = service.app.get(KeyRecords);
    await until(() => records['toRead'].size + records['reads'].size === 0);

    const reads = await readsDuring(service.database.connection, async () => {
      for (const { bytes, answers } of keyless) {
        await sendRaw(service.port, bytes, { answers: answers.length });
      }
    });

    expect(keyless.length).toBeGreaterThan(30);
    expect(reads).toEqual([]);
  });

  it('refuses a chunk longer than it says, after the answer that was ready', async () => {
    const socket = connect(service.port, '127.0.0.1');
    // What is asked often is in memory, and answered before the body is read.
    for (let count = 0; count < 5; count++) {
      socket.write(withKeys(wire(lookup.path)), 'latin1');
      await once(socket, 'readable');
      expect(String(socket.read())).toMatch(/^HTTP\/1\.1 200 /);
    }

    const head = `GET ${lookup.path} HTTP/1.1\r\nHost: a\r\nX-API-Key: <key>\r\nTransfer-Encoding: chunked\r\n\r\n`;
    socket.write(withKeys(`${head}1\r\nabc\r\n0\r\n\r\n`), 'latin1');
    const answers = await readAnswers(socket, { answers: 2 });
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    expectAnswer(answers[1], malformed());
    socket.destroy();
  });

  it.each([
    ['', 200, 'application/json; charset=utf-8'],
    ['?page=0', 400, 'application/problem+json'],
  ])('answers HEAD %s with what GET has, and no body', async (query, status, type) => {
    const request = withKeys(
      wire(`${lookup.path}${query}`, {
        method: 'HEAD',
        headers: ['Host: a', 'X-API-Key: <key>', 'Connection: close'],
      }),
    );

    const socket = connect(service.port, '127.0.0.1');
    socket.end(request);
    const received = Buffer.concat(await socket.toArray()).toString();

    expect(received.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
    expect(received).toContain(`\r\nContent-Type: ${type}\r\n`);
    expect(received).toMatch(/\r\n\r\n$/);
  });
});

it('has at least 150 requests in the table of each look-up, each once', () => {
  for (const lookup of TARGETS) {
    const bytes = hostileRequests(lookup).map((request) => request.bytes);
    expect(bytes.length).toBeGreaterThanOrEqual(150);
    expect(new Set(bytes).size).toBe(bytes.length);
  }
});

it.each([
  [0, 'headers that do not end'],
  [1, 'a connection without a request'],
  [2, 'headers that come byte by byte'],
])('answers 408 to slow client %i: %s', async (index) => {
  const { answers, tookMs } = (await slow[index]) ?? { answers: [], tookMs: 0 };

  expect(answers).toHaveLength(1);
  expectAnswer(answers[0], malformed(408));
  expect(tookMs).toBeLessThan(HEADERS_TOO_LATE_MS);
});

it('looks nothing up for a request whose end can not be known, and tells of it once', async () => {
  const unread = await createTestApp({ mongodbUri: monitored(testDatabaseUri()), cacheMaxMb: 0 });
  const send = (bytes: string, answers: number) =>
    sendRaw(unread.port, bytes.replaceAll('<key>', unread.key), { answers });
  const endless = withPath('/unknown', 'Transfer-Encoding: identity');
  try {
    // Reads the key.
    await send(withPath('/before'), 1);
    const reads = await readsDuring(unread.database.connection, async () => {
      const [alone] = await send(endless, 1);
      const behind = await send(withPath('/first') + endless, 2);
      expect([alone, ...behind].map((answer) => answer?.status)).toEqual([400, 200, 400]);
      // Whatever those have begun comes before this one.
      await send(withPath('/last'), 1);
    });

    const ids = JSON.stringify(reads).match(/unknown|first|last/g);
    expect([...new Set(ids)]).toEqual(['first', 'last']);
    const lines = unread.logged.filter((line) => line.includes('"code":"invalid_request"'));
    expect(lines).toHaveLength(2);
  } finally {
    await unread.close();
  }
});

it('reads twice as many unknown names in about twice the time', async () => {
  // The best of some: whatever else the process does only adds.
  const few: number[] = [];
  const many: number[] = [];
  for (let tries = 0; tries < 12; tries++) {
    few.push(await cpuOfManyNames(1_900));
    many.push(await cpuOfManyNames(3_800));
  }
  // Of the square of their number it would be four times.
  expect(Math.min(...many) / Math.min(...few)).toBeLessThan(3);
});

it('keeps idle connections for longer than balancers do, which would send on one that is closing', async () => {
  const { headers } = await fetch(`${service.url}/health/live`);
  expect(headers.get('keep-alive')).toBe('timeout=65');
});

it.each([
  [417, 'HTTP/1.1\r\nHost: x\r\nExpect: x'],
  [400, 'HTTP/1.1\r\nHost: x\r\nHost: y'],
  [400, 'HTTP/2.0\r\nHost: x\r\nConnection: keep-alive'],
])(
  'closes a connection after a %i to what a proxy may have read otherwise',
  async (status, head) => {
    const [answer] = await sendRaw(service.port, `GET /nothing ${head}\r\n\r\n`);
    expect([answer?.status, ...headersOf(answer, 'connection')]).toEqual([status, 'close']);
  },
);

it('takes what comes behind a CONNECT, for who reads no answer before all is sent', async () => {
  const socket = connect(service.port, '127.0.0.1');
  const bytes = wire('a:1', { method: 'CONNECT', body: 'x'.repeat(8 * 1024 * 1024) });
  await new Promise((resolve) => socket.write(bytes, resolve));
  expect((await readAnswers(socket)).map(({ status }) => status)).toEqual([405]);
});

it('answers 408 to each of many that time out together', async () => {
  // Those who are slow before it have been answered.
  await Promise.allSettled(slow);
  const server = service.app.getHttpServer();
  expect([server.headersTimeout, server.requestTimeout]).toEqual([5_000, 10_000]);
  Object.assign(server, { headersTimeout: 200, requestTimeout: 300 });
  const sockets = await openSockets(server, 40);
  const answers = await Promise.all(sockets.map((socket) => readAnswers(socket)));
  expect(answers.flat().map(({ status }) => status)).toEqual(sockets.map(() => 408));
});

it('closes a connection whose body does not end, without a word behind the answer', async () => {
  // Those who are slow before it have been answered.
  await Promise.allSettled(slow);
  Object.assign(service.app.getHttpServer(), { headersTimeout: 200, requestTimeout: 300 });
  const socket = connect(service.port, '127.0.0.1');
  const head = wire(TARGETS[0]?.path ?? '', {
    headers: ['Host: a', 'X-API-Key: <key>', 'Content-Length: 9'],
  });
  socket.write(withKeys(`${head}abc`), 'latin1');
  const received = Buffer.concat(await socket.toArray()).toString();
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

it('writes no refusal into a stream whose request turns out to be none', async () => {
  const socket = connect(service.port, '127.0.0.1');
  const headers = ['Host: a', 'X-API-Key: <key>', 'Transfer-Encoding: chunked'];
  socket.write(withKeys(wire('/v1/markets/stream?eventId=nobody', { headers })), 'latin1');
  const [begun] = (await once(socket, 'data')) as [Buffer];
  socket.write('no chunk\r\n');
  const received = Buffer.concat([begun, ...(await socket.toArray())]).toString();
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

/** Processor time, in µs, for refusing a query of so many names that nobody knows: the machine may be busy otherwise. */
async function cpuOfManyNames(count: number): Promise<number> {
  const names = Array.from({ length: count }, (_, n) => (n + 1_300).toString(36));
  const before = process.cpuUsage();
  await service.get(`${TARGETS[0]?.path}?${names.join('&')}`).expect(400);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** A look-up of an id that nobody has. */
function withPath(id: string, ...lines: string[]): string {
  return wire(`${TARGETS[0]?.route}${id}`, { headers: ['Host: a', 'X-API-Key: <key>', ...lines] });
}

function hostileRequests(lookup: Lookup): HostileRequest[] {
  return [
    ...hostileInput(lookup),
    ...hostilePaths(lookup),
    ...hostileCredentials(lookup),
    ...hostileProtocol(lookup),
  ];
}

function expectAnswer(answer: RawAnswer | undefined, expected: Expected): void {
  expect(answer?.status).toBe(expected.status);
  expect(answer?.headers.get('x-request-id')).toMatch(/^[\w.:-]{1,64}$/);
  const expectBody = expected.status === 200 ? expectEmptyPage : expectProblem;
  expectBody(answer, expected);
}

function expectEmptyPage(answer: RawAnswer | undefined): void {
  const { data, meta } = JSON.parse(answer?.body ?? '{}') as { data: unknown; meta: unknown };
  expect({ data, meta }).toEqual({ data: [], meta: expect.objectContaining({ itemCount: 0 }) });
}

function expectProblem(answer: RawAnswer | undefined, { status, code, faults }: Expected): void {
  const { errors, ...problem } = JSON.parse(answer?.body ?? '{}') as { errors?: RequestFault[] };
  expect(problem).toEqual({
    type: `urn:markets-odds:problem:${code}`,
    title: expect.stringMatching(/^[A-Z][a-z ]+$/),
    status,
    detail: expect.stringMatching(/^[A-Z][\x20-\x7e]+\.$/),
    code,
    requestId: answer?.headers.get('x-request-id'),
  });
  for (const error of errors ?? []) {
    expect(error).toEqual({
      in: expect.stringMatching(/^(path|query|header)$/),
      name: expect.any(String),
      detail: expect.stringMatching(/^[\x20-\x7e]+$/),
    });
  }
  const named = errors?.map((error) => `${error.in} ${error.name}`);
  expect(named?.toSorted()).toEqual(faults?.toSorted());
  expect(headersOf(answer, 'content-type', 'cache-control', 'allow', 'www-authenticate')).toEqual([
    'application/problem+json',
    'no-store',
    status === 405 ? 'GET, HEAD' : undefined,
    status === 401 ? 'ApiKey realm="markets"' : undefined,
  ]);
  expectSilence(answer);
}

function headersOf(answer: RawAnswer | undefined, ...names: string[]): (string | undefined)[] {
  return names.map((name) => answer?.headers.get(name));
}

/** Nothing about us, and of the request nothing but the names of its parameters. */
function expectSilence(answer: RawAnswer | undefined): void {
  const text = `${answer?.head}\r\n\r\n${answer?.body}`;
  expect(text).not.toMatch(/node_modules|\.[jt]s:\d|^\s+at /m);
  expect(text).not.toMatch(/127\.0\.0\.1|localhost|mongodb|odds\.example|evil\.example/i);
  expect(text).not.toMatch(/x-powered-by|access-control|x-injected|^server:/im);
  expect(text).not.toContain(SENTINEL);
  for (const key of keys.values()) expect(text).not.toContain(key.slice(17));
}

async function makeKeys(): Promise<ReadonlyMap<string, string>> {
  const apiKeys = service.keys;
  const limited = await apiKeys.create({ name: 'limited', rateLimit: 1 });
  const expired = await apiKeys.create({ name: 'expired', expiresInMs: 1 });
  const revoked = await apiKeys.create({ name: 'revoked' });
  await apiKeys.revoke(revoked.record._id);
  await service.getOpen(`${TARGETS[0]?.path}?api_key=${limited.key}`).expect(200);
  return new Map([
    ['<key>', service.key],
    ['<limited>', limited.key],
    ['<expired>', expired.key],
    ['<revoked>', revoked.key],
    ['<unknown>', generateKey()],
  ]);
}

function withKeys(bytes: string): string {
  return bytes.replaceAll(/<[a-z]+>/g, (name) => keys.get(name) ?? name);
}

/** Sends each part a quarter of a second after the one before, as long as the server listens. */
async function sendSlowly(parts: readonly string[]) {
  const began = performance.now();
  const socket = connect(service.port, '127.0.0.1');
  await once(socket, 'connect');
  const ended = new AbortController();
  const sending = (async () => {
    for (const part of parts) {
      socket.write(part);
      await delay(250, undefined, { signal: ended.signal });
    }
  })().catch(() => undefined);
  const answers = await readAnswers(socket);
  const tookMs = performance.now() - began;
  ended.abort();
  await sending;
  socket.destroy();
  return { answers, tookMs };
}
