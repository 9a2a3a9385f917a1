import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { generateKey, hashKey, keyIdOf } from '../src/api-keys/key-form.js';
import { settings } from '../src/config.js';
import { databaseName } from '../src/database/database.js';
import { createTestApp } from './app.js';

/** The service under test. */
export interface Service {
  readonly url: string;
  readonly port: number;
  /** A key without a request limit. */
  readonly key: string;
  /** Of the process, if it is one of its own. */
  readonly pid?: number;
  stop(): Promise<void>;
}

/** The service within the process of the test. */
export async function startInProcess(mongodbUri: string): Promise<Service> {
  const service = await createTestApp({ mongodbUri, logLevel: 'warn' });
  const { url, port, key } = service;
  return { url, port, key, stop: () => service.close() };
}

const PROGRAM = resolve('dist/main.js');

export interface ProcessOptions {
  /** Settings beside MONGODB_URI, HOST and PORT. */
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments for Node.js itself, such as `--import`. */
  readonly nodeArgs?: readonly string[];
  /** A key that MongoDB has, or will have; without it one is stored now. */
  readonly key?: string;
}

/** The service as it is run: a process of its own, from what `npm run build` has made. */
export class ServiceProcess implements Service {
  /** What it wrote, line by line. */
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  /** Its exit code, once it has ended and all it wrote is read; null after a signal. */
  readonly exited: Promise<number | null>;
  readonly pid: number;
  port = 0;

  private constructor(
    private readonly child: ReturnType<typeof spawnProgram>,
    readonly key: string,
  ) {
    this.pid = child.pid ?? 0;
    this.exited = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
    createInterface({ input: child.stdout }).on('line', (line) => this.stdout.push(line));
    createInterface({ input: child.stderr }).on('line', (line) => this.stderr.push(line));
    const endWithUs = () => child.kill('SIGKILL');
    process.once('exit', endWithUs);
    child.once('close', () => process.removeListener('exit', endWithUs));
  }

  /** Starts the program, whatever comes of it. */
  static spawn(mongodbUri: string, { env = {}, nodeArgs = [], key = '' }: ProcessOptions = {}) {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: npm run build`);
    return new ServiceProcess(spawnProgram(mongodbUri, env, nodeArgs), key);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when it listens. */
  async listening(): Promise<this> {
    const ended = this.exited.then((code) => {
      throw new Error(
        `The service ended with ${code}: ${[...this.stderr, ...this.stdout].join('\n')}`,
      );
    });
    ended.catch(() => undefined);
    while (this.port === 0) {
      await Promise.race([delay(5), ended]);
      this.port = Number(/Listening on \S+:(\d+)/.exec(this.stdout.join('\n'))?.[1] ?? 0);
    }
    return this;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it at once, paused or not; resolves when it is gone. */
  async stop(): Promise<void> {
    this.child.kill('SIGCONT');
    this.child.kill('SIGKILL');
    await this.exited;
  }
}

/** Starts the service as a process; resolves when it listens. */
export async function startProcess(
  mongodbUri: string,
  options: ProcessOptions = {},
): Promise<ServiceProcess> {
  const key = options.key ?? (await storeKey(mongodbUri));
  return ServiceProcess.spawn(mongodbUri, { ...options, key }).listening();
}

/** Stores a new key without a request limit, past the service. */
export async function storeKey(mongodbUri: string, key = generateKey()): Promise<string> {
  const client = new MongoClient(mongodbUri);
  try {
    const record = { _id: keyIdOf(key) ?? '', name: 'test', hash: hashKey(key), rateLimit: 0 };
    const keys = client.db(databaseName(mongodbUri)).collection<typeof record>('api_keys');
    await keys.insertOne(record, { writeConcern: { w: 'majority' } });
    return key;
  } finally {
    await client.close();
  }
}

function spawnProgram(
  mongodbUri: string,
  env: Readonly<Record<string, string>>,
  nodeArgs: readonly string[],
) {
  const unset = Object.fromEntries(settings.map(({ variable }) => [variable, '']));
  return spawn(process.execPath, [...nodeArgs, PROGRAM], {
    // Where no `.env` is.
    cwd: tmpdir(),
    env: {
      ...process.env,
      ...unset,
      MONGODB_URI: mongodbUri,
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_FORMAT: 'json',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
