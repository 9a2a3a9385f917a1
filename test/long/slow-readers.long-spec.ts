import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { AppOptions } from '../../src/app.setup.js';
import { HTTP_LIMITS, type HttpLimits } from '../../src/http/http-limits.js';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket, store } from '../factories.js';
import { countConnections, readAnswers, sendRaw } from '../raw-http.js';
import { until } from '../until.js';

const PATH = '/v1/markets/market/fixture/small';
const LARGE = '/v1/markets/market/fixture/large?take=100';

/** Together more than the buffers of both ends hold. */
const ANSWERS = 4;

const LIMITS: HttpLimits = { ...HTTP_LIMITS, unreadMs: 500 };

let service: TestApp;

beforeEach(async () => {
  service = await createTestApp({ logLevel: 'warn' }, { limits: LIMITS });
  const name = 'n'.repeat(30_000);
  const markets = Array.from({ length: 100 }, () => aMarket({ fixtureId: 'large', name }));
  await store(service.database.connection, aMarket({ fixtureId: 'small' }), ...markets);
  await until(async () => (await service.get(LARGE)).status === 200);
});

afterEach(() => service.close());

/** The service on the same database, otherwise set up. */
async function restart(options: AppOptions): Promise<void> {
  const { mongodbUri } = service.config;
  await service.close();
  service = await createTestApp({ mongodbUri, logLevel: 'warn' }, options);
}

const server = () => service.app.getHttpServer();

const aRequest = (path = PATH) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.key}\r\n\r\n`;

const asking = () => aRequest(LARGE).repeat(ANSWERS);

async function isServed(): Promise<boolean> {
  const [answer] = await sendRaw(service.port, aRequest());
  return answer?.status === 200;
}

async function ask(bytes: string): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1');
  socket.write(bytes);
  await once(socket, 'readable');
  return socket;
}

it('a client that does not read is cut off', async () => {
  const socket = await ask(asking());
  // Paused, a socket does not tell that it was closed.
  await until(async () => (await countConnections(server())) === 0, 10_000);
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});

it('a client that does not read is cut off though it goes on asking', async () => {
  const socket = await ask(asking());
  socket.on('error', () => undefined);
  while ((await countConnections(server())) > 0) {
    socket.write(aRequest(LARGE));
    await delay(100);
  }
  expect(socket.bytesWritten).toBeGreaterThan(asking().length);
  socket.destroy();
});

it('a client that does not read is served when it reads after all', async () => {
  // A fifth of the time for reading, all of it long beside what a busy machine may stand still for.
  await restart({ limits: { ...LIMITS, unreadMs: 2_000 } });
  const socket = await ask(asking());
  await delay(400);
  const answers = await readAnswers(socket, { answers: ANSWERS });
  expect(answers.map(({ status, body }) => [status, JSON.parse(body).data.length])).toEqual(
    Array.from({ length: ANSWERS }, () => [200, 100]),
  );
});

it('a client that does not read is served when it reads slowly, but steadily', async () => {
  const socket = await ask(asking());
  let received = 0;
  for (let reads = 0; reads < 25; reads++) {
    // The receiver's buffer opens in steps.
    for (let taken = 0; taken < 200_000;) {
      const chunk = socket.read() as Buffer | null;
      if (!chunk) await once(socket, 'readable');
      taken += chunk?.length ?? 0;
      received += chunk?.length ?? 0;
    }
    await delay(60);
  }
  expect(received).toBeGreaterThan(4_000_000);
  expect(await countConnections(server())).toBe(1);
  socket.destroy();
});

it('a client that does not read takes no place from others, whatever it asked for', async () => {
  const inFlight = 10;
  await restart({ limits: { ...LIMITS, inFlight, unreadMs: 60_000 } });
  const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(8);
  const bytes = [page, asking()];
  const unread = await Promise.all(
    Array.from({ length: 2 * inFlight }, (_, index) => ask(bytes[index % 2] ?? '')),
  );
  // Until what they asked for is answered, as far as they take it, there may be too much to do.
  await until(isServed, 10_000);
  const [answer] = await sendRaw(service.port, aRequest());
  expect(answer?.status).toBe(200);
  // It had to wait for none of them to be cut off.
  expect(await countConnections(server())).toBeGreaterThanOrEqual(unread.length);
  for (const socket of unread) socket.destroy();
});
