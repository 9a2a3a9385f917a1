import { expect, it, jest } from '@jest/globals';

let options: unknown;

/** A collector that is away. */
class NodeSDK {
  constructor(given: object) {
    options = given;
  }
  start(): void {}
  shutdown(): Promise<void> {
    return Promise.reject(new Error('connect ECONNREFUSED'));
  }
}

jest.unstable_mockModule('./opentelemetry.js', () => ({
  loadPackages: async () => [
    { NodeSDK, resources: { envDetector: 'env' } },
    {},
    { MongoDBInstrumentation: Object },
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

it('a server ends well though nobody takes its last spans', async () => {
  await startTracing({ OTEL_TRACES_EXPORTER: 'otlp' });
  // Nothing but traces goes out, and nothing of the machine or the command line with them.
  const nothingElse = { metricReaders: [], logRecordProcessors: [], resourceDetectors: ['env'] };
  expect(options).toMatchObject({ serviceName: 'markets-odds-service', ...nothingElse });
  await expect(stopTracing()).resolves.toBeUndefined();
});
