import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { HTTP_LIMITS } from '../src/http/http-limits.js';
import { createTestApp, type TestApp } from './app.js';
import { setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { sendRaw, sendTogether } from './raw-http.js';

/** No answer comes later, and some room for a busy machine. Milliseconds. */
const LATEST_MS = 2_500 + 1_000;

let mongod: TestMongod;
let service: TestApp;

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await createTestApp({ mongodbUri: mongod.uri, cacheMaxMb: 0, logLevel: 'warn' });
  await service.get('/v1/markets/market/fixture/warm').expect(200);
}, 60_000);

afterAll(async () => {
  await service.close();
  await mongod.stop();
}, 60_000);

it('answers everybody in time while MongoDB answers nobody', async () => {
  const aLookup = (index: number) =>
    `GET /v1/markets/market/fixture/hung-${index} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.key}\r\n\r\n`;
  const block = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 3_000 };
  await setFailCommand(mongod, 'alwaysOn', block);
  const startedAt = performance.now();
  const lookups = sendTogether(
    service.app.getHttpServer(),
    Array.from({ length: 4 * HTTP_LIMITS.inFlight }, (_, index) => aLookup(index)),
  );
  const [live] = await sendRaw(service.port, 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(live?.status).toBe(200);
  const answers = await lookups;
  expect(performance.now() - startedAt).toBeLessThan(LATEST_MS);
  expect(answers).toHaveLength(4 * HTTP_LIMITS.inFlight);
  expect(answers.filter(({ status }) => status !== 503 && status !== 504)).toEqual([]);
  await setFailCommand(mongod, 'off');
}, 20_000);
