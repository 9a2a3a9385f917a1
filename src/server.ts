import { Logger } from '@nestjs/common';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp } from './app.setup.js';
import { redact } from './common/redact.js';
import { hostAndPort, messageOf } from './common/text.js';
import { VERSION } from './common/version.js';
import { ConfigError, loadConfig, type Config } from './config.js';
import { Database } from './database/database.js';
import { openEmbedded } from './embedded-mongod/embedded.js';
import type { HttpServerAdapter } from './http/http-server.js';
import { moveDemoPrices } from './demo/demo-feed.js';
import { prepareDemo } from './demo/prepare-demo.js';
import { welcome } from './demo/welcome.js';
import { exit, shutDownOnSignal } from './shutdown.js';
import { WRITE_EVERY_MS } from './telemetry/line-writer.js';
import { createLogger, exitOnUncaught } from './telemetry/logger.js';
import { stopTracing } from './telemetry/tracing.js';

/** The server waits this long for MongoDB before it listens, so that the first callers need no 503. Milliseconds. */
const CONNECTS_WITHIN_MS = 1_000;

const NO_ARGUMENTS = 'The server takes no arguments: set PORT and the like in its environment';

const say = (line: string) => process.stderr.write(`${line}\n`);

async function start(): Promise<void> {
  if (process.argv.length > 2) throw new ConfigError(NO_ARGUMENTS);
  const given = loadConfig();
  const options = { path: given.embeddedDbPath, name: 'the server', shared: true };
  const embedded = given.mongodbUri ? undefined : await openEmbedded(options, say);
  let shutdown: AbortSignal | undefined;
  try {
    const config: Config = embedded
      ? { ...given, mongodbUri: embedded.uri, isEmbedded: true }
      : given;
    const logger = createLogger(config);
    exitOnUncaught(logger);
    const app = await createApp(config, logger);
    shutdown = shutDownOnSignal(app, async () => {
      await embedded?.close();
      await stopTracing();
    });
    const { adminPort, host } = config;
    if (adminPort !== undefined) {
      const adapter = app.getHttpAdapter() as unknown as HttpServerAdapter;
      await adapter.listenOnAdminPort(adminPort, host);
      new Logger('Main').log(`Probes and metrics are on ${hostAndPort(host, adminPort)}`);
    }
    const database = app.get(Database);
    const connected = database.connectEventually();
    const makeReady = async () => {
      await connected;
      await (config.dbInit ? database.init() : database.warnOfMissingIndexes());
    };
    const makeDemo = () => makeReady().then(() => prepareDemo(database.connection));
    let hasDemo = false;
    // Where MongoDB is away, look-ups are answered 503. The embedded one has its demo before anybody can ask.
    if (embedded) hasDemo = await Promise.race([makeDemo(), embedded.ended]);
    else await Promise.race([connected, delay(CONNECTS_WITHIN_MS)]);
    // A proxy would send requests to a port that opens only to close.
    if (shutdown.aborted) return;
    await app.listen(config.port, host);
    const { port } = app.getHttpServer().address() as AddressInfo;
    new Logger('Main').log(`Listening on ${hostAndPort(host, port)}, version ${VERSION}`);
    if (!embedded) return await makeReady();
    if (config.demoFeed) void moveDemoPrices(database.connection);
    // After the lines of the log, which wait so long to be written.
    await delay(WRITE_EVERY_MS);
    process.stdout.write(welcome(host, port, hasDemo));
  } catch (error) {
    // The shutdown has closed what the rest of the start needs.
    if (shutdown?.aborted) return;
    await embedded?.close();
    throw error;
  }
}

/** What to change when the server can't listen, by the error code of the system. */
const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: ' (another program has this port: set another PORT or ADMIN_PORT)',
  EADDRNOTAVAIL: ' (this machine has no such address: set another HOST)',
  ENOTFOUND: ' (no address is found for this name: set another HOST)',
  EAI_AGAIN: ' (no address is found for this name: set another HOST)',
  EACCES: ' (this port is for root alone: set a PORT or ADMIN_PORT above 1023)',
};

function whyNotStarted(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  const { syscall, code = '' } = (error ?? {}) as NodeJS.ErrnoException;
  const isListening = syscall === 'listen' || syscall === 'getaddrinfo';
  const hint = isListening ? (HINTS[code] ?? '') : '';
  return redact(`Could not start: ${messageOf(error)}${hint}`);
}

start().catch((error: unknown) => {
  say(whyNotStarted(error));
  return exit(1);
});
