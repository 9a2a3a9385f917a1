import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { HTTP_LIMITS } from '../../src/http/http-limits.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { createTestApp, type TestApp } from '../app.js';
import { storeEvent } from '../factories.js';
import { openStream } from '../open-stream.js';
import { inTime, until } from '../until.js';
import type { StreamClient } from '../watch-client.js';

const MIB = 1_024 * 1_024;

/** How long the service waits for clients that read nothing, in milliseconds. */
const UNREAD_MS = 2_000;

let service: TestApp;
const streams: StreamClient[] = [];

beforeAll(async () => {
  service = await createTestApp({}, { limits: { ...HTTP_LIMITS, unreadMs: UNREAD_MS } });
});
afterAll(() => service.close());
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});

async function open(query: string): Promise<StreamClient> {
  const stream = await openStream(service, query);
  streams.push(stream);
  return stream;
}

async function isCut(): Promise<boolean> {
  const metrics = await service.app.get(Metrics).registry.metrics();
  return /streams_ended_total{reason="unread"} 1/.test(metrics);
}

it('a stream that nobody reads is cut, and others go on', async () => {
  expect(HTTP_LIMITS.unreadMs).toBe(15_000);
  const largeEvent = await storeEvent(service.database.connection, 14, MIB);
  const unread = await open(`eventId=${largeEvent}`);
  unread.response.pause();
  const query = `eventId=${largeEvent}&marketMoment=live&marketStatus=CLOSED`;
  const other = await open(query);
  await other.named('current');
  await until(isCut);
  expect(service.logged.some((line) => line.includes('"endReason":"unread"'))).toBe(true);
  expect(other.isOver).toBe(false);
});

it('a stream that is read slowly, but all the time, is not cut', async () => {
  const eventId = await storeEvent(service.database.connection, 20, MIB);
  await inTime(() => service.get(`/v1/markets/changes?eventId=${eventId}`));
  const slow = await open(`eventId=${eventId}`);
  const { response } = slow;
  const begun = performance.now();
  // Reads 1 MiB in 250 ms.
  response.on('data', ({ length }: string) => {
    response.pause();
    setTimeout(() => response.resume(), (250 * length) / MIB);
  });
  await slow.named('current', 20_000);
  expect(performance.now() - begun).toBeGreaterThan(2 * UNREAD_MS);
});
