import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { StreamTimes } from '../src/markets/watch/stream-times.js';
import { createTestApp, type TestApp } from './app.js';
import { monitored, readsDuring } from './mongo-commands.js';
import { testDatabaseUri } from './mongo.js';
import { until } from './until.js';
import { StreamClient } from './watch-client.js';

const HOUR_MS = 3_600_000;

let service: TestApp;

beforeEach(async () => {
  service = await createTestApp({ mongodbUri: monitored(testDatabaseUri()) });
});

afterEach(async () => {
  jest.restoreAllMocks();
  await service.close();
});

it('a key is looked up again after a suspend, in which the monotonic clock stood still', async () => {
  const path = '/v1/markets/market/fixture/none';
  await service.get(path).expect(200);
  const resumedAt = Date.now() + HOUR_MS;
  jest.spyOn(Date, 'now').mockImplementation(() => resumedAt);
  const reads = await readsDuring(service.database.connection, () => service.get(path).expect(200));
  expect(reads.map(({ find }) => find)).toContain('api_keys');
});

it('a stream does not say after a suspend that it is as current as before', async () => {
  service.app.get(StreamTimes).tellEveryMs = 100;
  const url = `${service.url}/v1/markets/stream?eventId=none`;
  const stream = await StreamClient.keepOpening(url, { 'X-API-Key': service.key });
  await stream.named('current');
  // What was written in the meantime is told only when the feed has its next answer.
  await service.app.get(ChangeFeed).onApplicationShutdown();
  const resumedAt = Date.now() + HOUR_MS;
  jest.spyOn(Date, 'now').mockImplementation(() => resumedAt);
  const told = stream.events.length;
  await until(() => stream.events.length > told);
  expect(stream.events.at(-1)?.data.ageMs).toBeGreaterThanOrEqual(HOUR_MS);
  stream.close();
});
