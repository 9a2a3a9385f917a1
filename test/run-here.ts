import { Command } from 'commander';
import { createConnection } from 'mongoose';
import { Readable } from 'node:stream';
import { addKeysCommands } from '../src/api-keys/keys.commands.js';
import { rendered } from '../src/cli.output.js';
import type { CommandContext, RunCommand } from '../src/common/command.js';
import { messageOf, printableLines } from '../src/common/text.js';
import { openConnection } from '../src/database/connection.js';
import { addDbCommands } from '../src/db-admin/db.commands.js';
import { addImportCommand } from '../src/markets/import/import.command.js';
import { Market, MarketSchema } from '../src/markets/market.schema.js';
import type { CliOptions, CliResult } from './run-cli.js';

/**
 * Runs a command to its end in this process, one at a time: a program of its own takes half a second to start. Wrong
 * usage is none for it, and of the settings it reads MONGODB_URI alone.
 */
export async function runHere(
  args: readonly string[],
  { env = {}, input = '' }: Pick<CliOptions, 'env' | 'input'> = {},
): Promise<CliResult> {
  const told = { stdout: '', stderr: '' };
  const connection = createConnection();
  connection.model(Market.name, MarketSchema);
  const program = new Command().option('--json');
  const print: CommandContext['print'] = async (result) => {
    told.stdout += rendered(result, program.opts()['json'] === true);
  };
  const say = async (message: string) => void (told.stderr += `${printableLines(message)}\n`);
  const { signal } = new AbortController();
  const context = { connection, dbInit: true, signal, say, print, deliver: print };
  const run: RunCommand =
    (handler) =>
    async (...values) => {
      await openConnection(connection, env['MONGODB_URI'] ?? '', { minPoolSize: 0 });
      await handler(context, ...values);
    };
  addKeysCommands(program, run);
  addDbCommands(program, run);
  addImportCommand(program, run);
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin');
  const given = Buffer.from(input);
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    value: Readable.from(given.length > 0 ? [given] : [], { objectMode: false }),
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return { code: 0, ...told };
  } catch (error) {
    await say(`error: ${messageOf(error)}`);
    return { code: 1, ...told };
  } finally {
    if (stdin) Object.defineProperty(process, 'stdin', stdin);
    await connection.close(true);
  }
}
