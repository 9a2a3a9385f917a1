#!/usr/bin/env node
import { NestFactory } from '@nestjs/core';
import { Command, CommanderError } from 'commander';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { addKeysCommands } from './api-keys/keys.commands.js';
import { CliModule } from './cli.module.js';
import {
  CommandFailure,
  messageOf,
  UsageFault,
  type CommandContext,
  type RunCommand,
} from './common/command.js';
import { Config, loadConfig } from './config.js';
import { Database } from './database/database.js';
import { addDbCommands } from './db-admin/db.commands.js';
import { openEmbedded } from './embedded-mongod/embedded.js';
import { addImportCommand } from './markets/import/import.command.js';
import { redact } from './telemetry/redact.js';

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

/** How long a command may take to end after a signal, before it is left where it is. Milliseconds. */
const GRACE_MS = 5_000;

const say = (message: string) => void process.stderr.write(`${message}\n`);

const print: CommandContext['print'] = ({ json, text }) =>
  void process.stdout.write(`${program.opts()['json'] ? JSON.stringify(json) : text}\n`);

const program = new Command('markets-odds')
  .description('The commands of the Markets Odds Service.')
  .option('--json', 'print one JSON document on stdout, and nothing else there')
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('(--help shows what is possible)')
  .exitOverride();

/** Gives a command's handler the application, and ends the application after it. */
const run: RunCommand =
  (handler) =>
  async (...args) => {
    const signal = stopSignal();
    const config = loadConfig();
    const name = program.args.slice(0, 2).join(' ');
    const owner = { path: config.embeddedDbPath, name, shared: false, signal };
    const embedded = config.mongodbUri ? undefined : await openEmbedded(owner, say);
    try {
      const settings = Object.assign(
        new Config(),
        config,
        embedded && { mongodbUri: embedded.uri },
      );
      await withApplication(settings, signal, (context) => handler(context, ...args));
    } finally {
      await embedded?.close();
    }
  };

addKeysCommands(program, run);
addImportCommand(program, run);
addDbCommands(program, run);

async function withApplication(
  config: Config,
  signal: AbortSignal,
  work: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const app = await NestFactory.createApplicationContext(CliModule.with(config), {
    logger: false,
    abortOnError: false,
  });
  try {
    await app.get(Database).connect().catch(unreachable);
    signal.throwIfAborted();
    await Promise.race([work({ app, signal, print, say }), graceAfter(signal)]);
  } finally {
    await app.close();
  }
}

function unreachable(error: unknown): never {
  throw new CommandFailure(`MongoDB can't be reached: ${messageOf(error)}`);
}

/** Aborted by the first SIGINT or SIGTERM; the second ends the process. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(FAILED);
      controller.abort(new CommandFailure(`stopped by ${name}`));
    });
  }
  return controller.signal;
}

/** Fails some time after the signal, for commands that wait for something that does not come. */
async function graceAfter(signal: AbortSignal): Promise<void> {
  await once(signal, 'abort');
  await delay(GRACE_MS);
  signal.throwIfAborted();
}

async function main(): Promise<number> {
  try {
    await program.parseAsync();
    return DONE;
  } catch (error) {
    // Commander has said what is wrong already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : WRONG_USAGE;
    say(`error: ${redact(messageOf(error))}`);
    return error instanceof UsageFault ? WRONG_USAGE : FAILED;
  }
}

// Whoever read our output may have seen enough.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

const exitCode = await main();
process.stdout.write('', () => process.exit(exitCode));
