import type { Command } from 'commander';
import type { RunCommand } from '../../common/command.js';
import { parseWholeNumber } from '../../common/option-values.js';
import { isAmong, STDIN } from './files.js';
import type { RunOptions } from './run-import.js';

const NOTES = `
FILE is NDJSON or one JSON array, gzipped or not: its content decides. A record holds the fields of a market
without _id; createdAt and updatedAt are optional. Markets are told apart by provider, eventId and marketId;
those that are stored already, equal in all else, are left alone. In an array, the line of a record is the
one on which it starts. Good records are in even when others are rejected. A run that was stopped can be
run again. A dry run compares each record with what is stored: a new market that comes again may be counted
as inserted again.

With --follow each record is stored as soon as it comes. While MongoDB is away it soon reads nothing more,
until MongoDB is back. SIGTERM ends it: what was read is stored, except a line that has not come to its end. If
MongoDB is away then, some two seconds are left for it to come back.`;

/** `markets import` */
export function addImportCommand(program: Command, run: RunCommand): void {
  program
    .command('markets')
    .description('The markets that the service shows.')
    .command('import')
    .description('Bring markets in from files, or from the standard input.')
    .argument('<file...>', `files to read; ${STDIN} is the standard input`)
    .option('--dry-run', 'check and compare, but write no market')
    .option('--follow', `store each record of a feed as it comes; with ${STDIN} alone`)
    .option('--rejects <file>', 'write rejects there, as NDJSON {file, line, field, reason}')
    .option('--max-rejects <n>', 'fail when more records are rejected', parseWholeNumber, 0)
    .addHelpText('after', NOTES)
    .action(async (files: readonly string[], options: RunOptions, command: Command) => {
      const fault = usageFault(files, options);
      if (fault) command.error(`error: ${fault}`);
      const { runImport } = await import('./run-import.js');
      await run(runImport)(files, options);
    });
}

function usageFault(files: readonly string[], { rejects, follow }: RunOptions): string | undefined {
  if (follow && (files.length > 1 || files[0] !== STDIN)) {
    return `--follow reads the standard input alone: ${STDIN}`;
  }
  if (files.filter((file) => file === STDIN).length > 1) {
    return 'The standard input can be read only once.';
  }
  if (rejects !== undefined && isAmong(rejects, files)) {
    return 'The rejects would overwrite a file that is to be read.';
  }
  return undefined;
}
