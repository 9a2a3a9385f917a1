import type { TextMapGetter } from '@opentelemetry/api';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestListener } from '../http/api-request.js';
import { loadPackages, type Api, type Sdk } from './opentelemetry.js';
import { outcomeOf } from './request-outcome.js';

const SERVICE = 'markets-odds-service';

/** How long the end of the process waits for a collector that does not take the last spans. Milliseconds. */
const LAST_SPANS_MS = 1_000;

let started: { readonly api: Api; readonly sdk: Sdk } | undefined;

/** Whether the standard variables of OpenTelemetry ask for traces. */
export function wantsTraces(env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  if (env['OTEL_TRACES_EXPORTER']) return env['OTEL_TRACES_EXPORTER'] !== 'none';
  return Boolean(env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
}

/**
 * Starts OpenTelemetry where its variables ask for it; else nothing is even loaded. To be called before the
 * modules that are traced (the driver) are imported. Without the packages it says so and lets the service run:
 * such variables are often set for all services of a cluster.
 */
export async function startTracing(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  if (!wantsTraces(env)) return;
  const packages = await loadPackages();
  if (!packages) return;
  const [{ NodeSDK, resources }, api, { MongoDBInstrumentation }] = packages;
  const sdk = new NodeSDK({
    // Traces alone: figures are at /metrics, the log is on stdout.
    metricReaders: [],
    logRecordProcessors: [],
    serviceName: env['OTEL_SERVICE_NAME'] || SERVICE,
    // Neither host nor command line: OTEL_RESOURCE_ATTRIBUTES names what is wanted.
    resourceDetectors: [resources.envDetector],
    instrumentations: [new MongoDBInstrumentation()],
  });
  sdk.start();
  started = { api, sdk };
}

/** Sends the last spans. */
export async function stopTracing(): Promise<void> {
  await Promise.race([
    started?.sdk.shutdown().catch(() => undefined),
    delay(LAST_SPANS_MS, undefined, { ref: false }),
  ]);
}

/**
 * Makes a span of each request, where tracing was started. Our own rather than the HTTP instrumentation's,
 * which records the URL, query and key included. What a caller wrote gets in as trace id and request id alone.
 */
export function traceRequests(serve: RequestListener, api = started?.api): RequestListener {
  if (!api) return serve;
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, propagation, trace } = api;
  const tracer = trace.getTracer(SERVICE);
  return (request, response) => {
    const parent = propagation.extract(ROOT_CONTEXT, request.headers, traceHeaders);
    const span = tracer.startSpan(request.method, { kind: SpanKind.SERVER }, parent);
    response.once('close', () => {
      // A stream lasts about an hour, and its span would dwarf all others. A span that is never ended is never sent.
      if (request.stream) return;
      const { keyId, method, requestId, route, source, status } = outcomeOf(request, response);
      span.updateName(`${method} ${route}`);
      span.setAttributes({
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'markets_odds.request_id': requestId,
        ...(keyId && { 'markets_odds.key_id': keyId }),
        ...(source && { 'markets_odds.source': source }),
      });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(parent, span), () => serve(request, response));
  };
}

/** Text of the caller's that would go out with each span. */
const FREE_TEXT = new Set(['tracestate', 'baggage']);

const traceHeaders: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => (FREE_TEXT.has(name) ? undefined : headers[name]),
};
