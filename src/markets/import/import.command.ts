import type { Command } from 'commander';
import { realpathSync } from 'node:fs';
import {
  CommandFailure,
  parseWholeNumber,
  printable,
  UsageFault,
  type CommandContext,
  type RunCommand,
} from '../../common/command.js';
import { Config } from '../../config.js';
import { Database } from '../../database/database.js';
import { initDatabase } from '../../database/init.js';
import { MarketImport, STDIN, totalBytes, type ImportReport } from './import-markets.js';
import { MarketImporter } from './market-importer.js';
import { Progress } from './progress.js';
import { RejectLog } from './reject-log.js';

interface Options {
  readonly dryRun?: boolean;
  readonly rejects?: string;
  readonly maxRejects: number;
}

const NOTES = `
FILE is NDJSON or one JSON array, gzipped or not: its content tells. A record holds the fields of a market
without _id; createdAt and updatedAt are optional. Markets are told apart by provider, eventId and marketId;
those that are stored already, equal in all else, are left alone. In an array, the line of a record is the
one on which it starts. Good records are in even when others are rejected. A run that was stopped can be
run again.`;

/** `markets import` */
export function addImportCommand(program: Command, run: RunCommand): void {
  program
    .command('markets')
    .description('The markets that the service shows.')
    .command('import')
    .description('Bring markets in from files, or from the standard input.')
    .argument('<file...>', `files to read; ${STDIN} is the standard input`)
    .option('--dry-run', 'check and compare, but write no market')
    .option('--rejects <file>', 'write rejects there, as NDJSON {file, line, field, reason}')
    .option('--max-rejects <n>', 'fail when more records are rejected', parseWholeNumber, 0)
    .addHelpText('after', NOTES)
    .action(run(importMarkets));
}

async function importMarkets(
  context: CommandContext,
  files: readonly string[],
  { dryRun = false, rejects, maxRejects }: Options,
): Promise<void> {
  checkFiles(files, rejects);
  if (!dryRun) await prepareDatabase(context);
  const progress = new Progress(totalBytes(files));
  const log = new RejectLog(rejects, (message) => progress.say(message));
  const markets = new MarketImport(context.app.get(MarketImporter), {
    dryRun,
    signal: context.signal,
    reject: (place, faults) => log.add(place, faults),
    progress: (bytes, read) => progress.update(bytes, read),
  });
  try {
    await log.open();
    await markets.run(files);
    await log.close();
  } finally {
    progress.stop();
    context.print({ json: markets.report, text: summary(markets.report, dryRun) });
  }
  const failures = [...markets.failures];
  const { rejected } = markets.report;
  if (rejected > maxRejects) failures.push(`${rejected} rejected, ${maxRejects} allowed`);
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'));
}

function checkFiles(files: readonly string[], rejects: string | undefined): void {
  if (files.filter((file) => file === STDIN).length > 1) {
    throw new UsageFault('The standard input can be read only once.');
  }
  if (rejects !== undefined && files.some((file) => isSameFile(file, rejects))) {
    throw new UsageFault('The rejects would overwrite a file that is to be read.');
  }
}

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

/** Without the index of the identity each market would cost a look at all of them. */
async function prepareDatabase({ app, say }: CommandContext): Promise<void> {
  if (!app.get(Config).dbInit) return;
  for (const { what, ok, reason } of await initDatabase(app.get(Database).connection)) {
    if (!ok) say(`warning: ${what} can't be made: ${printable(reason ?? '', 500)}`);
  }
}

function summary({ read, inserted, updated, unchanged, rejected }: ImportReport, dryRun: boolean) {
  const counts = `${inserted} inserted, ${updated} updated, ${unchanged} unchanged, ${rejected} rejected`;
  return `${read} read: ${counts}${dryRun ? ' (dry run: nothing was written)' : ''}`;
}
