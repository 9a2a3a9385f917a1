import { afterEach, expect, it, jest } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createServer } from 'node:http';
import * as timers from 'node:timers/promises';
import { until } from '../test/until.js';

/** As if the time for the last answers never came to its end. */
const setTimeout = (ms: number) => (ms > 2_000 ? new Promise(() => undefined) : undefined);
jest.unstable_mockModule('node:timers/promises', () => ({ ...timers, setTimeout }));
const { shutDownOnSignal } = await import('./shutdown.js');

afterEach(() => {
  jest.restoreAllMocks();
});

it('ends, though clients never stop connecting', async () => {
  const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
  let [now, events] = [0, 0];
  jest.spyOn(performance, 'now').mockImplementation(() => (now += 10));
  jest.spyOn(performance.nodeTiming, 'uvMetricsInfo', 'get').mockImplementation(() => ({
    loopCount: 0,
    events: Math.min(++events, 1_000),
    eventsWaiting: 0,
  }));
  const app = {
    getHttpServer: () => createServer(),
    getHttpAdapter: () => ({}),
    get: () => ({ shutDown: () => undefined, drain: async () => undefined }),
    close: async () => undefined,
  };
  shutDownOnSignal(app as unknown as NestExpressApplication, async () => undefined);
  process.emit('SIGTERM', 'SIGTERM');
  await until(() => exit.mock.calls.length > 0);
  expect(exit.mock.calls).toEqual([[0]]);
  expect(events).toBeLessThan(1_000);
});
