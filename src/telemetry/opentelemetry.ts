/** The first and the last are installed only by those who trace. */
const PACKAGES = ['sdk-node', 'api', 'instrumentation-mongodb'] as const;

/** Its types are always here, since prom-client brings the package. */
export type Api = typeof import('@opentelemetry/api');

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
    // Without the option npm leaves optional peers out, though it is asked for them.
    const names = PACKAGES.map((name) => `@opentelemetry/${name}`).join(' ');
    process.stderr.write(
      `No traces, though OTEL_* variables ask for them: their packages are not installed (npm install --save-prod ${names})\n`,
    );
    return undefined;
  }
}
