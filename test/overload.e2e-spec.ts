import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppOptions } from '../src/app.setup.js';
import { HTTP_LIMITS, type HttpLimits } from '../src/http/http-limits.js';
import { TimeSlices } from '../src/http/overload/time-slices.js';
import { Metrics } from '../src/telemetry/metrics.js';
import { createTestApp, type TestApp } from './app.js';
import { collectGarbage } from './collect-garbage.js';
import { aMarket, store } from './factories.js';
import {
  countConnections,
  openSockets,
  readAnswers,
  sendRaw,
  sendTogether,
  type RawAnswer,
} from './raw-http.js';
import { until } from './until.js';

const PATH = '/v1/markets/market/fixture/asked-by-many';
/** So few may wait here that the clients, who share our process, are done in time. */
const LIMITS: HttpLimits = { ...HTTP_LIMITS, queueMax: 150 };
const CONNECTIONS = LIMITS.queueMax + LIMITS.inFlight + 150;
const PROBE = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';

let service: TestApp;

beforeEach(async () => {
  service = await createTestApp({ logLevel: 'warn' }, { limits: LIMITS });
  await store(service.database.connection, aMarket({ fixtureId: 'asked-by-many' }));
  await service.get(PATH).expect(200);
});

afterEach(() => service.close());

/** The service on the same database, otherwise set up. */
async function restart(options: AppOptions): Promise<void> {
  const { mongodbUri } = service.config;
  await service.close();
  service = await createTestApp({ mongodbUri, logLevel: 'warn' }, { limits: LIMITS, ...options });
}

const server = () => service.app.getHttpServer();

function aRequest(headers = '', path = PATH): string {
  const { key } = service;
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${headers}\r\n`;
}

/** MongoDB has no part in its answer, so that such answers are sent in the order in which they were begun. */
const toNothing = (headers = '') => aRequest(headers, '/nothing');

/** More requests than may wait, all at the same time: they are there when the server next looks at its sockets. */
async function flood(headers = '', path = PATH): Promise<RawAnswer[]> {
  const sockets = await openSockets(server(), CONNECTIONS);
  const bytes = aRequest(headers, path);
  for (const socket of sockets) socket.write(bytes, 'latin1');
  pause();
  const answers = (await Promise.all(sockets.map((socket) => readAnswers(socket)))).flat();
  for (const socket of sockets) socket.destroy();
  return answers;
}

/** Holds up the event loop. */
function pause(): void {
  const over = performance.now() + 150;
  while (performance.now() < over);
}

it('refuses some of too many requests, serves the rest, and says so', async () => {
  const [answers, live] = await Promise.all([flood(), sendRaw(service.port, PROBE)]);
  expect(live.map(({ status }) => status)).toEqual([200]);
  const served = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 503);
  // On a busy machine some wait too long for MongoDB.
  const late = answers.filter(({ status }) => status === 504);
  expect(served.length + refused.length + late.length).toBe(CONNECTIONS);
  // How many depends on how many can be answered before the others have waited too long.
  expect(served.length).toBeGreaterThan(20);
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
  const { requestId } = JSON.parse(warnings[0] ?? '') as { requestId?: string };
  expect([...ids]).toContain(requestId);
  // All is as before.
  await service.get(PATH).expect(200);
});

it('refuses no probe, however many come', async () => {
  const answers = await flood('', '/health/live');
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

it('refuses what only begins like the path of a probe', async () => {
  const answers = await flood('', '/health/live/x');
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404, 503]));
});

it('keeps a sane request id of one that it refuses', async () => {
  const refused = (await flood('X-Request-Id: mine\r\n')).filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(100);
  expect(new Set(refused.map(({ headers }) => headers.get('x-request-id')))).toEqual(
    new Set(['mine']),
  );
});

it('tells allowed origins why they are refused', async () => {
  await service.close();
  service = await createTestApp(
    { corsOrigins: ['https://odds.example'], logLevel: 'warn' },
    { limits: LIMITS },
  );
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
  await restart({ limits: HTTP_LIMITS });
  const crowd = Array.from({ length: 200 }, () => sendRaw(service.port, aRequest()));
  pause();
  const statuses = (await Promise.all(crowd)).flat().map(({ status }) => status);
  expect(statuses).toEqual(Array.from({ length: 200 }, () => 200));
});

it('does work in shorter pieces while clients connect', async () => {
  const connected = jest.spyOn(TimeSlices.prototype, 'connected');
  const [socket] = await openSockets(server(), 1);
  socket?.destroy();
  expect(connected).toHaveBeenCalledTimes(1);
  jest.restoreAllMocks();
});

it('keeps nothing of an answer that is over, nor of its connection', async () => {
  const answers: WeakRef<object>[] = [];
  server().on('request', ({ socket }: IncomingMessage, response: object) =>
    answers.push(new WeakRef(response), new WeakRef(socket)),
  );
  for (let asked = 0; asked < 40; asked += 1) await service.get(PATH).expect(200);
  await until(() => {
    collectGarbage();
    return answers.filter((answer) => answer.deref()).length < 20;
  }, 5_000);
});

it('does nothing for those who left while they waited', async () => {
  const sockets = await openSockets(server(), 300);
  for (const socket of sockets) socket.write(aRequest(), 'latin1');
  // Those who stay behind wait in the queue when the others leave.
  const [first, ...leaving] = sockets;
  pause();
  if (!first) throw new Error('There is no socket');
  for (const socket of leaving) socket.resetAndDestroy();
  expect((await readAnswers(first))[0]?.status).toBe(200);
  first.destroy();
  await until(async () => (await countConnections(server())) === 0, 10_000);
  await service.get(PATH).expect(200);
});

it('gives back the place of a stream whose client left before it began', async () => {
  await restart({ limits: { ...LIMITS, inFlight: 1 } });
  for (let left = 0; left < 10; left += 1) {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(aRequest('', `/v1/markets/stream?eventId=left-${left}`));
    const [, response] = await once(server(), 'request');
    socket.resetAndDestroy();
    await once(response, 'close');
  }
  expect((await service.get(PATH)).status).toBe(200);
});

describe('pipelined requests', () => {
  it('do not go before all others', async () => {
    const { pipelined } = LIMITS;
    const [patient, ...ahead] = await openSockets(server(), 41);
    let before = 0;
    let isAnswered = false;
    const count = ({ headers }: IncomingMessage, response: ServerResponse) =>
      response.once('finish', () => {
        if (headers['x-patient']) isAnswered = true;
        else if (!isAnswered) before += 1;
      });
    server().prependListener('request', count);
    for (const socket of ahead) socket.write(toNothing().repeat(pipelined), 'latin1');
    pause();
    if (!patient) throw new Error('There is no socket');
    patient.write(toNothing('X-Patient: yes\r\n'), 'latin1');
    const all = Promise.all(ahead.map((socket) => readAnswers(socket, { answers: pipelined })));
    const [answer] = await readAnswers(patient);
    expect(answer?.status).toBe(404);
    const statuses = (await all).flat().map(({ status }) => status);
    expect(statuses).toEqual(Array.from({ length: ahead.length * pipelined }, () => 404));
    expect(before).toBeLessThan(statuses.length / 2);
    server().removeListener('request', count);
    for (const socket of [patient, ...ahead]) socket.destroy();
  });

  it.each([
    ['look-ups', () => aRequest()],
    ['metrics', () => 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['probes', () => PROBE],
  ])('are answered as far as they are not too many: %s', async (_what, bytes) => {
    const answers = await sendRaw(service.port, bytes().repeat(1_900), { answers: 1_900 });
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual([...Array.from({ length: LIMITS.pipelined + 1 }, () => 200), 503]);
    expect(answers.at(-1)?.headers.get('connection')).toBe('close');
  });

  it('are fewer where each takes much memory', async () => {
    const heavy = toNothing('a:\r\n'.repeat(3_500)).repeat(LIMITS.pipelined);
    const holding = await Promise.all([1, 2, 3, 4].map(holdUp));
    for (const socket of holding) socket.write(heavy, 'latin1');
    const second = async () => {
      const answers = await sendRaw(service.port, toNothing().repeat(2), { answers: 2 });
      return answers[1]?.status;
    };
    await until(async () => (await second()) === 503);
    for (const socket of holding) socket.destroy();
    await until(async () => (await second()) === 404);
  });

  it.each([
    ['may be as many as one likes, a few at a time', ''],
    ['may take as much memory as one likes, a little at a time', 'a:\r\n'.repeat(3_500)],
  ])('%s', async (_what, headers) => {
    const socket = connect(service.port, '127.0.0.1');
    const statuses: string[] = [];
    const few = LIMITS.pipelined - 8;
    for (let sent = few; sent <= 10 * few; sent += few) {
      socket.write(aRequest(headers).repeat(few), 'latin1');
      while (statuses.length < sent) {
        const chunk = socket.read() as Buffer | null;
        if (!chunk) await once(socket, 'readable');
        statuses.push(...(String(chunk).match(/HTTP\/1\.1 \d+/g) ?? []));
      }
    }
    expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 200']));
    socket.destroy();
  });

  it('keep nobody else waiting and take little memory, though nobody reads the answers', async () => {
    await restart({ metrics: new Metrics() });
    // From memory it is answered however busy MongoDB is.
    for (let asked = 0; asked < 3; asked += 1) await service.get(PATH).expect(200);
    const scrape = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
    const [one, other] = await sendTogether(server(), [scrape, scrape]);
    expect(one?.body === other?.body).toBe(true);
    const unread = await openSockets(server(), 4);
    const before = memoryInUse();
    let most = 0;
    let slowestMs = 0;
    for (const socket of unread) socket.write(scrape.repeat(1_900), 'latin1');
    // The last one may be of a look-up that has been answered.
    while ((await countConnections(server())) > 1) {
      const askedAt = performance.now();
      const [answer] = await sendRaw(service.port, aRequest());
      // It comes from MongoDB where the feed is late: a busy machine can be too slow for that.
      expect([200, 503, 504]).toContain(answer?.status);
      slowestMs = Math.max(slowestMs, performance.now() - askedAt);
      most = Math.max(most, memoryInUse());
    }
    for (const socket of unread) socket.destroy();
    expect(slowestMs).toBeLessThan(2_500);
    expect(most - before).toBeLessThan(64 * 1024 * 1024);
  });
});

/** A connection whose first answer, a stream, does not end. */
async function holdUp(): Promise<Socket> {
  for (;;) {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(aRequest('', '/v1/markets/stream?eventId=held'));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    // While the feed is late on a busy machine, a stream is refused.
    if (String(answer).startsWith('HTTP/1.1 200')) return socket;
    socket.destroy();
  }
}

function memoryInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
