import type { NestExpressApplication } from '@nestjs/platform-express';
import supertest from 'supertest';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { ApiKeysService } from '../src/api-keys/api-keys.service.js';
import { createApp, type AppOptions } from '../src/app.setup.js';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { Config } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { initDatabase } from '../src/database/init.js';
import { createLogger } from '../src/telemetry/logger.js';
import { Metrics } from '../src/telemetry/metrics.js';
import { testDatabaseUri } from './mongo.js';
import { until } from './until.js';

export interface TestApp {
  readonly app: NestExpressApplication;
  readonly config: Config;
  readonly database: Database;
  readonly keys: ApiKeysService;
  /** Where it listens, on loopback. */
  readonly url: string;
  readonly port: number;
  /** A key without a request limit. */
  readonly key: string;
  /** Every line logged so far. */
  readonly logged: string[];
  /** supertest, with the key in the header. */
  get(path: string): supertest.Test;
  /** supertest, without a key. */
  getOpen(path: string): supertest.Test;
  close(): Promise<void>;
}

/** The real application, listening, on a database of its own in the tests' MongoDB; with a new key, if none is given. */
export async function createTestApp(
  overrides: Partial<Config> = {},
  options: AppOptions & { readonly key?: string } = {},
): Promise<TestApp> {
  const config: Config = {
    ...new Config(),
    mongodbUri: testDatabaseUri(),
    logLevel: 'trace',
    ...overrides,
  };
  const logged: string[] = [];
  const app = await createApp(config, createLogger(config, collect(logged)), {
    // A test reads what it has just done.
    metrics: new Metrics(0),
    ...options,
  });
  const database = app.get(Database);
  await database.connectEventually();
  if (config.dbInit) await initDatabase(database.connection);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const keys = new ApiKeysService(database.connection);
  const key = options.key ?? (await keys.create({ name: 'test', rateLimit: 0 })).key;
  return {
    app,
    config,
    database,
    keys,
    url,
    port,
    key,
    logged,
    get: (path) => supertest(url).get(path).set('X-API-Key', key),
    getOpen: (path) => supertest(url).get(path),
    close: () => app.close(),
  };
}

/** Resolves when the service knows all that is written by now: just after an answer of MongoDB has come. */
export async function allTold({ app }: Pick<TestApp, 'app'>): Promise<void> {
  const now = performance.now();
  const feed = app.get(ChangeFeed);
  await until(() => performance.now() - feed.ageMs >= now);
}

/** A stream that adds each chunk to some lines. */
export function collect(lines: string[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
}
