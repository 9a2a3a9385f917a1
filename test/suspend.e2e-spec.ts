import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createTestApp, type TestApp } from './app.js';
import { monitored, readsDuring } from './mongo-commands.js';
import { testDatabaseUri } from './mongo.js';

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
