#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addKeysCommands } from './api-keys/keys.commands.js';
import type { RunCommand } from './common/command.js';
import { redact } from './common/redact.js';
import { messageOf, printableLines } from './common/text.js';
import { VERSION } from './common/version.js';
import { addDbCommands } from './db-admin/db.commands.js';
import { addImportCommand } from './markets/import/import.command.js';
import { say, writeWhole } from './cli.output.js';
import { stopSignal } from './cli.signals.js';

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

const program = new Command('markets-odds')
  .description('The commands of the Markets Odds Service.')
  .version(VERSION)
  .option('--json', 'print one JSON document on stdout, and nothing else there')
  .configureHelp({ showGlobalOptions: true })
  .configureOutput({ outputError: (message, write) => write(redact(printableLines(message))) })
  .showHelpAfterError('(--help shows what is possible)')
  .exitOverride();

/** Gives a command's handler the database, which takes long to load: neither help nor wrong usage needs it. */
const run: RunCommand =
  (handler) =>
  async (...args) => {
    const signal = stopSignal();
    const { withDatabase } = await import('./cli.database.js');
    await withDatabase(program, signal, (context) => handler(context, ...args));
  };

addKeysCommands(program, run);
addImportCommand(program, run);
addDbCommands(program, run);

async function main(): Promise<number> {
  try {
    await program.parseAsync();
    return DONE;
  } catch (error) {
    // Commander has said what is wrong already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : WRONG_USAGE;
    await say(`error: ${messageOf(error)}`);
    return FAILED;
  }
}

const exitCode = await main();
for (const stream of [process.stdout, process.stderr]) {
  await writeWhole(stream, '').catch(() => undefined);
}
process.exit(exitCode);
