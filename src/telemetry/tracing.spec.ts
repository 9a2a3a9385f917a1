import { expect, it, jest } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';

let options: unknown;
const start = jest.fn();
/** As where the collector is away. */
const shutdown = jest.fn(() => Promise.reject(new Error('connect ECONNREFUSED')));

class NodeSDK {
  readonly start = start;
  readonly shutdown = shutdown;
  constructor(given: object) {
    options = given;
  }
}

class MongoDBInstrumentation {
  readonly traced = 'mongodb';
}

jest.unstable_mockModule('./opentelemetry.js', () => ({
  loadPackages: async () => [
    { NodeSDK, resources: { envDetector: 'env' } },
    {},
    { MongoDBInstrumentation },
  ],
}));

const { startTracing, stopTracing, wantsTraces } = await import('./tracing.js');

it.each([
  [{}, false],
  [{ OTEL_SERVICE_NAME: 'odds' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
  [{ OTEL_TRACES_EXPORTER: 'console' }, true],
  [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, false],
  [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
])('traces with %p: %p', (env, expected) => {
  expect(wantsTraces(env)).toBe(expected);
});

it('the driver of MongoDB is traced, under the name that is set for the service', async () => {
  await startTracing({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_SERVICE_NAME: 'odds' });
  const instrumentations = [{ traced: 'mongodb' }];
  expect(options).toMatchObject({ serviceName: 'odds', instrumentations });
  expect(start).toHaveBeenCalledTimes(1);
});

it('a server ends well though nobody takes its last spans', async () => {
  await startTracing({ OTEL_TRACES_EXPORTER: 'otlp' });
  // Nothing but traces goes out, and nothing of the machine or the command line with them.
  const nothingElse = { metricReaders: [], logRecordProcessors: [], resourceDetectors: ['env'] };
  expect(options).toMatchObject({ serviceName: 'markets-odds-service', ...nothingElse });
  expect(shutdown).not.toHaveBeenCalled();
  await expect(stopTracing()).resolves.toBeUndefined();
  expect(shutdown).toHaveBeenCalledTimes(1);
});

it('a server ends soon though its collector hangs', async () => {
  await startTracing({ OTEL_TRACES_EXPORTER: 'otlp' });
  shutdown.mockReturnValueOnce(new Promise(() => undefined));
  await expect(
    Promise.race([stopTracing(), delay(5_000, 'waits', { ref: false })]),
  ).resolves.toBeUndefined();
});
