import type { TextMapGetter } from '@opentelemetry/api';
import type { Api } from '../src/telemetry/opentelemetry.js';

interface RecordedSpan {
  name: string;
  readonly kind: number;
  /** Headers of which its trace was read. */
  readonly parent: unknown;
  attributes: Record<string, string | number>;
  status: number | undefined;
  /** Whether the request was served within it, so that the spans of MongoDB's commands are below it. */
  isActive: boolean;
  isEnded: boolean;
}

/** What OpenTelemetry would be told of requests, in the order of their beginnings. */
export class RecordedSpans {
  readonly spans: RecordedSpan[] = [];

  readonly api = {
    ROOT_CONTEXT: {},
    SpanKind: { SERVER: 1 },
    SpanStatusCode: { ERROR: 2 },
    context: {
      with: ({ activate }: { activate?: () => void }, next: () => void) => {
        activate?.();
        next();
      },
    },
    propagation: {
      extract: (_context: unknown, carrier: object, getter: TextMapGetter) => ({
        traceparent: getter.get(carrier, 'traceparent'),
        tracestate: getter.get(carrier, 'tracestate'),
        baggage: getter.get(carrier, 'baggage'),
      }),
    },
    trace: {
      getTracer: () => ({ startSpan: this.start.bind(this) }),
      setSpan: (_parent: unknown, span: unknown) => span,
    },
  } as unknown as Api;

  private start(name: string, { kind }: { kind: number }, parent: object) {
    const span: RecordedSpan = {
      name,
      kind,
      parent,
      attributes: {},
      status: undefined,
      isActive: false,
      isEnded: false,
    };
    this.spans.push(span);
    return {
      activate: () => void (span.isActive = true),
      updateName: (given: string) => void (span.name = given),
      setAttributes: (given: Record<string, string | number>) =>
        void Object.assign(span.attributes, given),
      setStatus: ({ code }: { code: number }) => void (span.status = code),
      end: () => void (span.isEnded = true),
    };
  }
}
