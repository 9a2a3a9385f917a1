import type { TextMapGetter } from '@opentelemetry/api';
import type { Api } from '../src/telemetry/opentelemetry.js';

interface RecordedSpan {
  name: string;
  readonly kind: number;
  /** Headers of which its trace was read. */
  readonly parent: unknown;
  attributes: Record<string, string | number>;
  status: number | undefined;
  isEnded: boolean;
}

/** What OpenTelemetry would be told of requests, in the order of their beginnings. */
export class RecordedSpans {
  readonly spans: RecordedSpan[] = [];

  readonly api = {
    ROOT_CONTEXT: {},
    SpanKind: { SERVER: 1 },
    SpanStatusCode: { ERROR: 2 },
    context: { with: (_context: unknown, next: () => void) => next() },
    propagation: {
      extract: (_context: unknown, carrier: object, getter: TextMapGetter) => ({
        traceparent: getter.get(carrier, 'traceparent'),
        tracestate: getter.get(carrier, 'tracestate'),
        baggage: getter.get(carrier, 'baggage'),
      }),
    },
    trace: {
      getTracer: () => ({ startSpan: this.start.bind(this) }),
      setSpan: (parent: unknown) => parent,
    },
  } as unknown as Api;

  private start(name: string, { kind }: { kind: number }, parent: object) {
    const span: RecordedSpan = {
      name,
      kind,
      parent,
      attributes: {},
      status: undefined,
      isEnded: false,
    };
    this.spans.push(span);
    return {
      updateName: (given: string) => void (span.name = given),
      setAttributes: (given: Record<string, string | number>) =>
        void Object.assign(span.attributes, given),
      setStatus: ({ code }: { code: number }) => void (span.status = code),
      end: () => void (span.isEnded = true),
    };
  }
}
