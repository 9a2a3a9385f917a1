import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import { generateKey, hashKey, keyIdOf } from '../../src/api-keys/key-form.js';
import { databaseName } from '../../src/database/database.js';
import { createTestApp } from '../app.js';

/** The service under test. */
export interface Service {
  readonly url: string;
  readonly key: string;
  /** Of the process, if it is one of its own. */
  readonly pid?: number;
  stop(): Promise<void>;
}

/** The service within the process of the test. */
export async function startInProcess(mongodbUri: string): Promise<Service> {
  const service = await createTestApp({ mongodbUri, logLevel: 'warn' });
  return { url: service.url, key: service.key, stop: () => service.close() };
}

const PROGRAM = 'dist/main.js';

/** The service as it is run: a process of its own, from what `npm run build` has made. */
export async function startProcess(mongodbUri: string): Promise<Service> {
  if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: npm run build`);
  const key = await makeKey(mongodbUri);
  const child = spawn(process.execPath, [PROGRAM], {
    env: {
      ...process.env,
      MONGODB_URI: mongodbUri,
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_FORMAT: 'json',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  const endWithUs = () => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  return {
    url: `http://127.0.0.1:${await portOf(child)}`,
    key,
    pid: child.pid,
    stop: async () => {
      process.removeListener('exit', endWithUs);
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function portOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('No output to read');
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /Listening on \S+:(\d+)/.exec(line)?.[1];
    if (!port) continue;
    child.stdout.resume();
    return port;
  }
  throw new Error('The service did not start');
}

async function makeKey(mongodbUri: string): Promise<string> {
  const client = new MongoClient(mongodbUri);
  try {
    const key = generateKey();
    const record = { _id: keyIdOf(key) ?? '', name: 'coherence', hash: hashKey(key), rateLimit: 0 };
    const keys = client.db(databaseName(mongodbUri)).collection<typeof record>('api_keys');
    await keys.insertOne(record, { writeConcern: { w: 'majority' } });
    return key;
  } finally {
    await client.close();
  }
}
