import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.setup.js';
import { Config, ConfigError, loadConfig } from './config.js';
import { Database } from './database/database.js';
import { openEmbedded } from './database/embedded/embedded.js';
import { initAtStart } from './database/init-at-start.js';
import { prepareDemo } from './demo/prepare-demo.js';
import { shutDownOnSignal } from './shutdown.js';
import { createLogger } from './telemetry/logger.js';

const say = (line: string) => process.stderr.write(`${line}\n`);

async function start(): Promise<void> {
  const given = loadConfig();
  const embedded = given.mongodbUri ? undefined : await openEmbedded(given.embeddedDbPath, say);
  const config: Config = { ...given, mongodbUri: given.mongodbUri ?? embedded?.uri };
  const logger = createLogger(config);
  const app = await createApp(config, logger);
  shutDownOnSignal(app, async () => embedded?.close());
  void connect(app, config, embedded !== undefined);
  await app.listen(config.port, config.host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  new Logger('Main').log(`Listening on ${config.host}:${port}`);
}

/** Brings the database up behind the running server: until then look-ups are answered 503. */
async function connect(app: NestExpressApplication, config: Config, demo: boolean): Promise<void> {
  const database = app.get(Database);
  await database.connectEventually();
  if (config.dbInit) await initAtStart(app);
  if (demo) await prepareDemo(app);
}

start().catch((error: unknown) => {
  const message = error instanceof ConfigError ? error.message : String(error);
  say(message);
  process.exitCode = 1;
});
