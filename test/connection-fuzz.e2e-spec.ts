import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { testDatabaseUri } from './mongo.js';
import { Random, SEED } from './random.js';
import { sendRaw } from './raw-http.js';
import { startProcess, type ServerProcess } from './services.js';

const CONNECTIONS = 250;
const AT_A_TIME = 40;

/** After so long a client leaves, whatever it was going to send. Milliseconds. */
const PATIENCE_MS = 200;

const PATH = '/v1/markets/market/fixture/fuzzed?take=100';

let service: ServerProcess;

beforeAll(async () => {
  service = await startProcess(testDatabaseUri());
});

afterAll(() => service.stop());

it.each([
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['Upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ['a request that is none', 'nonsense\r\n\r\n'],
])('outlives a client that resets its connection after %s', async (_name, bytes) => {
  for (let count = 0; count < 20; count++) {
    const socket = open();
    socket.write(bytes);
    await once(socket, 'data');
    socket.resetAndDestroy();
  }
  await expectAlive();
});

it('sends what is refused by the parser with the same headers as all data', async () => {
  const [answer] = await sendRaw(service.port, 'nonsense\r\n\r\n');
  expect(answer?.status).toBe(400);
  expect(Object.fromEntries(answer?.headers ?? [])).toMatchObject({
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
});

it('does not wait long for a refused client to leave', async () => {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write('nonsense\r\n\r\n');
  await once(socket, 'data');
  const refusedAt = performance.now();
  // Slowly, so that nothing but a time can end it.
  while (!socket.destroyed && performance.now() - refusedAt < 4_000) {
    socket.write('x');
    await delay(100);
  }
  expect(socket.destroyed).toBe(true);
});

it('waits a moment for the rest of a request that was answered, and not for long', async () => {
  const head = 'GET /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n';
  const whole = open();
  await expectNotFound(whole, `${head}abc`);
  const unfinished = open();
  const closed = once(unfinished, 'close');
  for (const bytes of [head, `abc${head}`]) await expectNotFound(unfinished, bytes);
  const answeredAt = performance.now();
  await closed;
  expect(performance.now() - answeredAt).toBeLessThan(5_000);
  await expectNotFound(whole, `${head}abc`);
  whole.destroy();
});

it('reads the rest of a request before it closes the connection, lest the answer be lost', async () => {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  const errors: Error[] = [];
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', (error) => errors.push(error));
  const head =
    'POST /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\n';
  await expectNotFound(socket, head);
  for (const byte of 'abcd') {
    socket.write(byte);
    await delay(20);
  }
  // What comes behind the last request has no answer.
  socket.resume().end('eGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n');
  await closed;
  expect(errors).toEqual([]);
  await expectAlive();
});

it('says nothing about garbage that comes behind a request under way', async () => {
  const socket = open();
  socket.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
  await once(socket, 'readable');
  for (let count = 0; count < 20; count++) {
    socket.write('nonsense\r\n\r\n');
    expect((await fetch(`${service.url}/health/live`)).status).toBe(200);
  }
  socket.destroy();
  await expectAlive();
});

it(`outlives connections that do whatever comes to mind (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  for (let done = 0; done < CONNECTIONS; done += AT_A_TIME) {
    const seeds = Array.from({ length: AT_A_TIME }, () => random.below(2 ** 32));
    await Promise.all(seeds.map((seed) => misbehave(new Random(seed))));
  }
  await expectAlive();
});

function open(): Socket {
  return connect(service.port, '127.0.0.1').on('error', () => undefined);
}

async function expectNotFound(socket: Socket, bytes: string): Promise<void> {
  socket.write(bytes);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1.1 404 /);
}

/** It answers, and said nothing but log lines below the level of an error. */
async function expectAlive(): Promise<void> {
  expect((await fetch(`${service.url}/health/live`)).status).toBe(200);
  expect(service.hasEnded).toBe(false);
  expect(service.stderr).toEqual([]);
  const levels = service.stdout.map((line) => (JSON.parse(line) as { level: string }).level);
  expect(levels.filter((level) => level === 'error' || level === 'fatal')).toEqual([]);
}

async function misbehave(random: Random): Promise<void> {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined).on('end', () => socket.end());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const giveUp = setTimeout(() => socket.destroy(), PATIENCE_MS);
  if (random.chance(0.8)) socket.resume();
  for (const part of partsOf(random)) {
    if (!socket.writable) break;
    socket.write(part, 'latin1');
    for (let turns = random.below(4); turns > 0; turns--) await nextTurn();
  }
  end(socket, random.below(5));
  await closed;
  clearTimeout(giveUp);
}

function end(socket: Socket, way: number): void {
  if (way === 0) socket.end();
  if (way === 1) socket.resetAndDestroy();
  if (way === 2) socket.destroy();
  if (way === 3) socket.once('data', () => socket.resetAndDestroy());
  if (way === 4) socket.once('data', () => socket.end());
}

/** Some requests in a row, cut anywhere, and the last maybe not whole. */
function partsOf(random: Random): string[] {
  const requests = Array.from({ length: 1 + random.below(5) }, () => requestOf(random)).join('');
  const whole = random.chance(0.3) ? requests.slice(0, random.below(requests.length)) : requests;
  const parts: string[] = [];
  for (let rest = whole; rest !== ''; rest = rest.slice(parts.at(-1)?.length)) {
    parts.push(rest.slice(0, 1 + random.below(random.chance(0.5) ? 20 : rest.length)));
  }
  return parts;
}

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'];
const TARGETS = [PATH, PATH, '/health/live', '/metrics', '/docs/', '/docs/swagger-ui-bundle.js'];
const MORE_TARGETS = ['/openapi.json', '/nothing', '*', 'a:1', 'http://a/health/live', '/%zz?%'];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1', ''];
const HEADERS = [
  'Connection: close',
  'Connection: Upgrade\r\nUpgrade: h2c',
  'Expect: 100-continue',
  'Expect: everything',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  'Accept-Encoding: gzip, br',
  'If-None-Match: *',
  'X-Request-Id: mine',
  'Host: b',
  'no header at all',
  'X-Empty:',
];
const BODIES = ['', '', '', 'hello', '5\r\nhello\r\n0\r\n\r\n', '5\r\nhel', 'zz\r\n', '\0\r\n\r\n'];

function requestOf(random: Random): string {
  if (random.chance(0.05)) return 'nonsense\r\n\r\n';
  const line = [
    random.pick(METHODS),
    random.pick([...TARGETS, ...MORE_TARGETS]),
    random.pick(VERSIONS),
  ];
  const headers = [
    ...(random.chance(0.9) ? ['Host: a'] : []),
    ...(random.chance(0.7) ? [`X-API-Key: ${service.key}`] : []),
    ...Array.from({ length: random.below(3) }, () => random.pick(HEADERS)),
  ];
  return `${line.join(' ')}\r\n${headers.map((each) => `${each}\r\n`).join('')}\r\n${random.pick(BODIES)}`;
}
