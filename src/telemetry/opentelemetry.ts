/** Not installed with the service: only who traces needs them. */
const PACKAGES = ['sdk-node', 'api', 'instrumentation-mongodb'] as const;

/** What we use of @opentelemetry/api. */
export interface Api {
  readonly ROOT_CONTEXT: object;
  readonly SpanKind: { readonly SERVER: number };
  readonly SpanStatusCode: { readonly ERROR: number };
  readonly context: { with(context: object, next: () => void): void };
  readonly propagation: { extract(context: object, carrier: object, getter: Getter): object };
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { kind: number }, parent: object): Span;
    };
    setSpan(context: object, span: Span): object;
  };
}

interface Span {
  updateName(name: string): void;
  setAttributes(attributes: Record<string, string | number>): void;
  setStatus(status: { code: number }): void;
  end(): void;
}

export interface Getter {
  keys(carrier: object): string[];
  get(carrier: object, name: string): unknown;
}

export interface Sdk {
  start(): void;
  shutdown(): Promise<void>;
}

type Packages = [
  { NodeSDK: new (options: object) => Sdk; resources: { envDetector: object } },
  Api,
  { MongoDBInstrumentation: new () => object },
];

/** Nothing, and a message, where they are not installed. */
export async function loadPackages(): Promise<Packages | undefined> {
  try {
    // The names are no literals, so that the service builds without the packages.
    const loaded = PACKAGES.map((name) => import(`@opentelemetry/${name}`) as Promise<unknown>);
    return (await Promise.all(loaded)) as Packages;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const names = PACKAGES.map((name) => `@opentelemetry/${name}`).join(' ');
    process.stderr.write(
      `No traces, though OTEL_* variables ask for them: their packages are not installed (npm install ${names})\n`,
    );
    return undefined;
  }
}
