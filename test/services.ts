import { MongoClient } from 'mongodb';
import { generateKey, hashKey, keyIdOf } from '../src/api-keys/key-form.js';
import { databaseName } from '../src/database/driver-options.js';
import { createTestApp } from './app.js';
import { ServerProcess, spawnProgram } from './server-process.js';

/** The service under test. */
export interface Service {
  readonly url: string;
  readonly port: number;
  /** A key without a request limit. */
  readonly key: string;
  /** The process id, if the service is a process of its own. */
  readonly pid?: number;
  stop(): Promise<void>;
}

/** The service within the process of the test. */
export async function startInProcess(mongodbUri: string): Promise<Service> {
  const service = await createTestApp({ mongodbUri, logLevel: 'warn' });
  const { url, port, key } = service;
  return { url, port, key, stop: () => service.close() };
}

interface ProcessOptions {
  /** Settings beside MONGODB_URI, HOST and PORT. */
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments for Node.js itself, such as `--import`. */
  readonly nodeArgs?: readonly string[];
  /** A key that MongoDB has, or will have; without it one is stored now. */
  readonly key?: string;
}

/** The service as a process of its own, with a key for it. */
export class ServiceProcess extends ServerProcess implements Service {
  private constructor(
    child: ReturnType<typeof spawnProgram>,
    readonly key: string,
  ) {
    super(child);
  }

  /** Starts the program, whatever comes of it. */
  static on(mongodbUri: string, { env, nodeArgs = [], key = '' }: ProcessOptions = {}) {
    return new ServiceProcess(spawnProgram({ MONGODB_URI: mongodbUri, ...env }, nodeArgs), key);
  }
}

/** Starts the service as a process; resolves when it listens. */
export async function startProcess(
  mongodbUri: string,
  options: ProcessOptions = {},
): Promise<ServiceProcess> {
  const key = options.key ?? (await storeKey(mongodbUri));
  return ServiceProcess.on(mongodbUri, { ...options, key }).listening();
}

/** Stores a new key past the service; without a request limit, if none is given. */
export async function storeKey(mongodbUri: string, { rateLimit = 0 } = {}): Promise<string> {
  const client = new MongoClient(mongodbUri);
  try {
    const key = generateKey();
    const record = { _id: keyIdOf(key) ?? '', name: 'test', hash: hashKey(key), rateLimit };
    const keys = client.db(databaseName(mongodbUri)).collection<typeof record>('api_keys');
    await keys.insertOne(record, { writeConcern: { w: 'majority' } });
    return key;
  } finally {
    await client.close();
  }
}
