import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MongoClient, Timestamp } from 'mongodb';
import { once } from 'node:events';
import { connect } from 'node:net';
import { writeCursor } from '../src/markets/watch/cursor.js';
import { MARKET_INDEXES } from './market-indexes.js';
import { testDatabaseUri } from './mongo.js';
import { readAnswers } from './raw-http.js';
import { startProcess, type ServerProcess } from './services.js';
import { StreamClient } from './watch-client.js';

const STREAMS = 50;

/** What callers who reconnect are spread over, in milliseconds. */
const SPREAD_MS = 2_000;

const uri = testDatabaseUri();
let server: ServerProcess;

beforeAll(async () => {
  const env = { STREAMS_PER_KEY: String(STREAMS), DB_INIT: 'false' };
  server = await startProcess(uri, { env });
});
afterAll(() => server.stop());

it('at the signal each stream is told, and callers come back one after the other', async () => {
  const url = `${server.url}/v1/markets/stream?eventId=e`;
  const headers = { 'X-API-Key': server.key };
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, n) => StreamClient.keepOpening(url + n, headers)),
  );
  await Promise.all(streams.map((stream) => stream.named('current')));
  // A client that keeps its connection for what it may ask later.
  const idle = connect(server.port, '127.0.0.1');
  idle.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(idle, 'data');
  // Requests of one connection, of which the first is waited for.
  const position = new Timestamp({ t: 2 ** 32 - 1, i: 1 });
  const since = writeCursor({ position, watchHash: '0'.repeat(16) });
  const asked = [`changes?eventId=e&since=${since}`, 'market/provider/e', 'market/fixture/e'];
  const pipelined = connect(server.port, '127.0.0.1');
  for (const path of asked)
    pipelined.write(
      `GET /v1/markets/${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${server.key}\r\n\r\n`,
    );
  const answered = readAnswers(pipelined, { answers: asked.length });
  await fetch(`${server.url}/health/live`);
  const signalledAt = performance.now();
  server.kill('SIGTERM');
  const ends = await Promise.all(streams.map((stream) => stream.named('end')));
  expect(ends.map(({ data }) => data.reason)).toEqual(ends.map(() => 'draining'));
  // Nor does one that comes now get a 503, after which browsers would never come back.
  const late = await StreamClient.open(`${url}0`, headers);
  expect(late.response.statusCode).toBe(200);
  expect((await late.named('end')).data.reason).toBe('draining');
  const probes = ['live', 'ready'].map((probe) => fetch(`${server.url}/health/${probe}`));
  const [live, ready] = await Promise.all(probes);
  // Who asks for anything else is to ask elsewhere the next time.
  expect(live?.headers.get('connection')).toBe('close');
  // And whoever sends requests here is to send them elsewhere.
  expect(ready?.status).toBe(503);
  expect((await answered).map(({ status }) => status)).toEqual([503, 200, 200]);
  await Promise.all(streams.map((stream) => stream.over()));
  expect(streams.map(({ names }) => names.at(-1))).toEqual(streams.map(() => 'end'));

  const backAt = ends.map(({ at }, index) => at + (streams[index]?.retryMs ?? 0));
  const span = Math.max(...backAt) - Math.min(...backAt);
  expect(span).toBeGreaterThan(SPREAD_MS);
  // Nor do most come within a part of it.
  for (const from of backAt) {
    const within = backAt.filter((at) => at >= from && at < from + SPREAD_MS / 4);
    expect(within.length).toBeLessThan(STREAMS / 2);
  }
  expect(await server.exited).toBe(0);
  // Before those would be cut off who have something under way.
  expect(performance.now() - signalledAt).toBeLessThan(10_000);
});

it('no demo was brought into a database that the server was given, nor what DB_INIT leaves to others', async () => {
  // Once it has ended it brings nothing more.
  await server.stop('SIGTERM');
  expect(server.stdout.filter((line) => line.includes('is missing'))).toEqual(
    MARKET_INDEXES.map((name) => expect.stringContaining(`The index markets.${name} is missing`)),
  );
  const client = await MongoClient.connect(uri);
  try {
    const keys = await client.db().collection('api_keys').find().toArray();
    // The key of this test.
    expect(keys.map(({ name }) => name)).toEqual(['test']);
    const collections = await client.db().listCollections().toArray();
    expect(collections.map(({ name }) => name)).toEqual(['api_keys']);
  } finally {
    await client.close();
  }
});
