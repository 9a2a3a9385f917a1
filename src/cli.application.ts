import { NestFactory } from '@nestjs/core';
import { CliModule } from './cli.module.js';
import { deliver, print, say } from './cli.output.js';
import { graceAfter } from './cli.signals.js';
import { CommandFailure, messageOf, type CommandContext } from './common/command.js';
import { loadConfig, type Config } from './config.js';
import { Database } from './database/database.js';

interface Options {
  /** The command's name, for who waits for the embedded MongoDB meanwhile. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Whether results are printed as JSON. */
  readonly json: boolean;
}

type Work = (context: CommandContext) => Promise<void>;

/** Gives a command the application, on the embedded MongoDB unless another is named, and ends both after it. */
export async function withApplication(options: Options, work: Work): Promise<void> {
  const config = loadConfig();
  if (config.mongodbUri) return runIn(config, options, work);
  const { openEmbedded } = await import('./embedded-mongod/embedded.js');
  const { name, signal } = options;
  const owner = { path: config.embeddedDbPath, name, shared: false, signal };
  const embedded = await openEmbedded(owner, (message) => void say(message));
  try {
    return await runIn({ ...config, mongodbUri: embedded.uri }, options, work);
  } finally {
    await embedded.close();
  }
}

async function runIn(config: Config, { signal, json }: Options, work: Work): Promise<void> {
  const app = await NestFactory.createApplicationContext(CliModule.with(config), {
    logger: false,
    abortOnError: false,
  });
  const context: CommandContext = {
    app,
    signal,
    say,
    print: (result) => print(result, json),
    deliver: (result) => deliver(result, json, signal),
  };
  try {
    await app.get(Database).connect().catch(unreachable);
    signal.throwIfAborted();
    await Promise.race([work(context), graceAfter(signal)]);
  } finally {
    await app.close();
  }
}

function unreachable(error: unknown): never {
  throw new CommandFailure(`MongoDB can't be reached: ${messageOf(error)}`);
}
