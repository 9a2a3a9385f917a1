import { expect, it } from '@jest/globals';
import { wantsTraces } from './tracing.js';

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
