import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { ADMISSION } from '../src/http/overload/admission.js';
import type { HttpServerAdapter } from '../src/http/http-server.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { countConnections, openSockets, readAnswers, sendRaw, type RawAnswer } from './raw-http.js';

const PATH = '/v1/markets/market/fixture/asked-by-many';
/** So few may wait here that the clients, who share our process, are done in time. */
const BURST = 400;
const CONNECTIONS = BURST + ADMISSION.underWay + 200;

let service: TestApp;

beforeAll(() => void Object.assign(ADMISSION, { burst: BURST }));

beforeEach(async () => {
  service = await createTestApp({ logLevel: 'warn' });
  await store(service.database.connection, aMarket({ fixtureId: 'asked-by-many' }));
  await service.get(PATH).expect(200);
});

afterEach(() => service.close());

const server = () => service.app.getHttpServer();

function aRequest(headers = ''): string {
  const { key } = service;
  return `GET ${PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${headers}\r\n`;
}

/** More requests than may wait, all at the same time: they are there when the server next looks at its sockets. */
async function flood(headers = ''): Promise<RawAnswer[]> {
  const sockets = await openSockets(server(), CONNECTIONS);
  const bytes = aRequest(headers);
  for (const socket of sockets) socket.write(bytes, 'latin1');
  pause();
  const answers = (await Promise.all(sockets.map((socket) => readAnswers(socket)))).flat();
  for (const socket of sockets) socket.destroy();
  return answers;
}

/** Holds up the event loop. */
function pause(): void {
  const until = performance.now() + 150;
  while (performance.now() < until);
}

it('refuses some of too many requests, serves the rest, and says so', async () => {
  const [answers, live] = await Promise.all([
    flood(),
    sendRaw(service.port, 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'),
  ]);
  expect(live.map(({ status }) => status)).toEqual([200]);
  const served = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 503);
  expect(served.length + refused.length).toBe(CONNECTIONS);
  expect(served.length).toBeGreaterThan(100);
  expect(refused.length).toBeGreaterThan(100);

  const ids = new Set(refused.map(({ headers }) => headers.get('x-request-id')));
  expect(ids.size).toBe(refused.length);
  for (const { headers, body } of refused) {
    expect(JSON.parse(body)).toEqual({
      type: 'urn:markets-odds:problem:overloaded',
      title: 'Overloaded',
      status: 503,
      detail: 'The service has too much to do. Please try again.',
      code: 'overloaded',
      requestId: headers.get('x-request-id'),
    });
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'retry-after': '1',
      'x-content-type-options': 'nosniff',
    });
    expect(headers.has('access-control-allow-origin')).toBe(false);
  }

  const { text } = await service.getOpen('/metrics').expect(200);
  expect(text).toContain(`http_requests_shed_total ${refused.length}\n`);
  expect(text).toContain(
    `http_request_duration_seconds_count{method="GET",route="/v1/markets/market/fixture/:fixtureId",status="503"} ${refused.length}\n`,
  );
  const warnings = service.logged.filter((line) => line.includes('Requests are refused'));
  expect(warnings.length).toBeGreaterThan(0);
  expect(warnings.length).toBeLessThan(10);
  // All is as before.
  await service.get(PATH).expect(200);
});

it('keeps a sane request id of one that it refuses, and answers HEAD without a body', async () => {
  const tooMany = ADMISSION.pipelined + 5;
  const [answers, heads] = await Promise.all([
    flood('X-Request-Id: mine\r\n'),
    sendRaw(service.port, aRequest().replace('GET', 'HEAD').repeat(tooMany), {
      answers: tooMany,
      bodiless: true,
    }),
  ]);
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(100);
  expect(new Set(refused.map(({ headers }) => headers.get('x-request-id')))).toEqual(
    new Set(['mine']),
  );
  expect(heads).toHaveLength(tooMany);
  expect(heads.at(-1)?.status).toBe(503);
});

it('tells allowed origins why they are refused', async () => {
  await service.close();
  service = await createTestApp({ corsOrigins: ['https://odds.example'], logLevel: 'warn' });
  const answers = await flood('Origin: https://odds.example\r\n');
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(100);
  for (const { body, headers } of refused) {
    expect(JSON.parse(body).code).toBe('overloaded');
    expect(headers.get('access-control-allow-origin')).toBe('https://odds.example');
    expect(headers.get('retry-after')).toBe('1');
  }
});

it('serves a crowd of two hundred that came during a pause', async () => {
  const crowd = Array.from({ length: 200 }, () => sendRaw(service.port, aRequest()));
  pause();
  const statuses = (await Promise.all(crowd)).flat().map(({ status }) => status);
  expect(statuses).toEqual(Array.from({ length: 200 }, () => 200));
});

it('reads connections in turn while many wait, and forgets none', async () => {
  const taken: Socket[] = [];
  server().on('connection', (socket: Socket) => taken.push(socket));
  const sockets = await openSockets(server(), 300);
  const countUnread = () => taken.filter((socket) => socket.isPaused()).length;
  const starts: string[] = [];
  let unread = 0;
  const askAgainAndAgain = async (socket: Socket) => {
    for (let asked = 0; asked < 4; asked++) {
      socket.write(aRequest(), 'latin1');
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      starts.push(bytes.toString('latin1', 0, 12));
      unread = Math.max(unread, countUnread());
    }
  };
  await Promise.all(sockets.map(askAgainAndAgain));
  expect(starts).toEqual(Array.from({ length: 4 * 300 }, () => 'HTTP/1.1 200'));
  expect(unread).toBeGreaterThan(ADMISSION.always);
  while (countUnread() > 0) await delay(5);
  for (const socket of sockets) socket.destroy();
  while ((await countConnections(server())) > 0) await delay(20);
});

it('does nothing for those who left while they waited unread', async () => {
  const taken: Socket[] = [];
  server().on('connection', (socket: Socket) => taken.push(socket));
  const sockets = await openSockets(server(), 300);
  for (const socket of sockets) socket.write(aRequest(), 'latin1');
  while (!taken.some((socket) => socket.isPaused())) await nextTurn();
  // They leave with a request of which the server has seen nothing.
  const unread = new Set(taken.filter((socket) => socket.isPaused()).map(remotePort));
  const leaving = sockets.filter(({ localPort }) => unread.has(localPort));
  for (const socket of leaving) socket.end(aRequest(), 'latin1');
  const staying = sockets.filter((socket) => !leaving.includes(socket));
  await Promise.all(staying.map((socket) => readAnswers(socket)));
  for (const socket of sockets) socket.destroy();
  while ((await countConnections(server())) > 0) await delay(20);
  expect(leaving.length).toBeGreaterThan(0);
  const { text } = await service.getOpen('/metrics').expect(200);
  expect(text).toContain('http_requests_shed_total 0\n');
  expect(countOf(499, text)).toBe(leaving.length);
  // The one before counts, too.
  expect(await servedSoFar()).toBe(1 + sockets.length);
});

it('does not let one client that asks ahead go before all others', async () => {
  const { pipelined } = ADMISSION;
  const [patient, ...ahead] = await openSockets(server(), 101);
  for (const socket of ahead) socket.write(aRequest().repeat(pipelined), 'latin1');
  pause();
  if (!patient) throw new Error('There is no socket');
  patient.write(aRequest(), 'latin1');
  const all = Promise.all(ahead.map((socket) => readAnswers(socket, { answers: pipelined })));
  const [answer] = await readAnswers(patient);
  expect(answer?.status).toBe(200);
  const before = await servedSoFar();
  const statuses = (await all).flat().map(({ status }) => status);
  expect(statuses).toEqual(Array.from({ length: ahead.length * pipelined }, () => 200));
  expect(before).toBeLessThan(statuses.length / 2);
  for (const socket of [patient, ...ahead]) socket.destroy();
});

describe('a client that does not read', () => {
  /** Together more than the buffers of both ends hold. */
  const ANSWERS = 12;
  const asking = () =>
    `GET /v1/markets/market/fixture/large?take=100 HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.key}\r\n\r\n`.repeat(
      ANSWERS,
    );

  beforeEach(async () => {
    const name = 'n'.repeat(8_000);
    const markets = Array.from({ length: 100 }, () => aMarket({ fixtureId: 'large', name }));
    await store(service.database.connection, ...markets);
    await service.get('/v1/markets/market/fixture/large?take=100').expect(200);
  });

  it('is cut off', async () => {
    (service.app.getHttpAdapter() as unknown as HttpServerAdapter).readWithinMs = 300;
    const socket = connect(service.port, '127.0.0.1');
    socket.write(asking());
    await once(socket, 'readable');
    // Paused, a socket does not tell that it was closed.
    while ((await countConnections(server())) > 0) await delay(20);
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('is served when it reads after all', async () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(asking());
    await once(socket, 'readable');
    await delay(100);
    const answers = await readAnswers(socket, { answers: ANSWERS });
    expect(answers.map(({ status, body }) => [status, JSON.parse(body).data.length])).toEqual(
      Array.from({ length: ANSWERS }, () => [200, 100]),
    );
  });
});

const remotePort = ({ remotePort: port }: Socket) => port;

/** Requests that were answered 200 so far. */
async function servedSoFar(): Promise<number> {
  const { text } = await service.getOpen('/metrics').expect(200);
  return countOf(200, text);
}

function countOf(status: number, metrics: string): number {
  const line = new RegExp(
    `^http_request_duration_seconds_count{.*status="${status}"} (\\d+)$`,
    'm',
  );
  return Number(line.exec(metrics)?.[1]);
}
