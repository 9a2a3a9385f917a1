import { MongoClient } from 'mongodb';
import { generateKey } from '../src/api-keys/key-form.js';
import { databaseName } from '../src/database/driver-options.js';
import { keyRecord } from './factories.js';
import {
  startServer,
  type Environment,
  type ServerOptions,
  type ServerProcess,
} from './server-process.js';

export type { ServerProcess } from './server-process.js';

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
  // It takes a second to load, for which those who start processes alone have no use.
  const { createTestApp } = await import('./app.js');
  const service = await createTestApp({ mongodbUri, logLevel: 'warn' });
  const { url, port, key } = service;
  return { url, port, key, stop: () => service.close() };
}

/** The service as a process, with a key that is stored now unless one is given; resolves when it listens. */
export async function startProcess(
  mongodbUri: string,
  { env, key, nodeArgs }: ServerOptions & { readonly env?: Environment } = {},
): Promise<ServerProcess> {
  const options = { nodeArgs, key: key ?? (await storeKey(mongodbUri)) };
  return startServer({ MONGODB_URI: mongodbUri, ...env }, options);
}

/** Stores a new key past the service; without a request limit, if none is given. */
export async function storeKey(mongodbUri: string, { rateLimit = 0 } = {}): Promise<string> {
  const client = new MongoClient(mongodbUri);
  try {
    const key = generateKey();
    const record = { ...keyRecord(key), rateLimit };
    const keys = client.db(databaseName(mongodbUri)).collection<typeof record>('api_keys');
    await keys.insertOne(record, { writeConcern: { w: 'majority' } });
    return key;
  } finally {
    await client.close();
  }
}
