import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { aMarket } from '../factories.js';
import { testDatabaseUri } from '../mongo.js';
import { startServer, type ServerProcess } from '../server-process.js';
import { startProcess } from '../services.js';
import { until } from '../until.js';

/** From the signal, however long clients take to read: before those are cut off who read nothing. */
const ENDS_WITHIN_MS = 14_000;

/** More than the buffers of both ends hold. */
const UNREAD = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20);

const PROBE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';

let server: ServerProcess;

beforeAll(async () => {
  server = await startServer({ MONGODB_URI: testDatabaseUri() });
});

afterAll(() => server.stop());

async function readiness(): Promise<number> {
  return (await fetch(`${server.url}/health/ready`)).status;
}

it('sends an answer whole though its client begins late to read it', async () => {
  const uri = testDatabaseUri();
  const name = 'x'.repeat(1024 * 1024);
  const client = await MongoClient.connect(uri);
  // More than the buffers of both ends hold.
  const markets = Array.from({ length: 30 }, () => aMarket({ eventId: 'e', name }));
  await client
    .db()
    .collection('markets')
    .insertMany(markets as object[]);
  await client.close();
  const slow = await startProcess(uri);
  try {
    await until(async () => (await fetch(`${slow.url}/health/ready`)).status === 200);
    const reader = connect(slow.port, '127.0.0.1');
    reader.write(
      `GET /v1/markets/market/provider/e?take=100 HTTP/1.1\r\nHost: a\r\nX-API-Key: ${slow.key}\r\n\r\n`,
    );
    await once(reader, 'readable');
    slow.kill('SIGTERM');
    // Two seconds before it would be cut off.
    await delay(10_000);
    const [head = '', body = ''] = (await text(reader)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(body.length).toBe(Number(/^content-length: (\d+)$/im.exec(head)?.[1]));
    expect(await slow.exited).toBe(0);
  } finally {
    await slow.stop();
  }
}, 30_000);

it('asks clients and probes to look elsewhere, and then ends', async () => {
  await until(async () => (await readiness()) === 200);
  const kept = connect(server.port, '127.0.0.1');
  kept.write(PROBE);
  const answers = kept[Symbol.asyncIterator]();
  const before = String((await answers.next()).value);
  expect(before).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: keep-alive\r\n/is);

  const unread = connect(server.port, '127.0.0.1').on('error', () => undefined);
  unread.write(UNREAD);
  await once(unread, 'readable');
  // Meanwhile the buffers fill up, with an answer begun that does not fit.
  for (let asked = 0; asked < 50; asked++) await readiness();

  const endsAt = performance.now() + ENDS_WITHIN_MS;
  server.kill('SIGTERM');
  await until(async () => (await readiness()) === 503);
  kept.write(PROBE);
  const after = String((await answers.next()).value);
  expect(after).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
  expect((await answers.next()).done).toBe(true);
  expect(await server.exited).toBe(0);
  expect(performance.now()).toBeLessThan(endsAt);
  unread.destroy();
}, 20_000);

it('cuts no request of a client that connects for each until a second later nobody listens, and waits for nobody idle', async () => {
  const ending = await startServer({ MONGODB_URI: testDatabaseUri() });
  const { port } = new URL(ending.url);
  const unanswered: string[] = [];
  const askOnAndOn = async () => {
    for (;;) {
      const client = connect(Number(port), '127.0.0.1');
      const isTaken = await once(client, 'connect').then(
        () => true,
        () => false,
      );
      if (!isTaken) return;
      client.write(PROBE.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
      const answer = await text(client).catch(String);
      if (!answer.startsWith('HTTP/1.1 200 ')) unanswered.push(answer);
    }
  };
  const clients = Array.from({ length: 4 }, askOnAndOn);
  const idle = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  idle.write(PROBE);
  await once(idle, 'data');
  const signalledAt = performance.now();
  ending.kill('SIGTERM');
  await Promise.all(clients);
  expect(performance.now() - signalledAt).toBeGreaterThan(1_000);
  expect(unanswered).toEqual([]);
  expect(await ending.exited).toBe(0);
  // It waits for no answer, and so not for who asks for none.
  expect(performance.now() - signalledAt).toBeLessThan(9_000);
}, 20_000);
