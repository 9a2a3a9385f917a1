import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandContext } from '../../common/command.js';
import { messageOf, printable } from '../../common/text.js';
import { missingIndexes } from '../../database/indexes.js';
import { IMAGES, initDatabase, type InitItem } from '../../database/init.js';
import { Market } from '../market.schema.js';
import { totalBytes } from './files.js';
import { importFailure, MarketImport } from './market-import.js';
import { MarketWriter } from './market-writer.js';
import { ImportProgress } from './import-progress.js';
import type { ImportEntry } from './record-batches.js';
import { RejectLog } from './reject-log.js';
import { retryWhileAway, TRY_AGAIN_AFTER_MS } from './retry-while-away.js';

/** A command's process ends 5 s after the signal, and the report comes before that. Milliseconds. */
const REPORT_AFTER_SIGNAL_MS = 4_500;

export interface RunOptions {
  readonly dryRun?: boolean;
  readonly follow?: boolean;
  readonly rejects?: string;
  readonly maxRejects: number;
}

export async function runImport(
  context: CommandContext,
  files: readonly string[],
  { dryRun = false, follow = false, rejects, maxRejects }: RunOptions,
): Promise<void> {
  const { connection, signal, say } = context;
  const warnings = dryRun ? [] : await prepare(context, follow);
  for (const warning of warnings) await say(`warning: ${warning}`);
  const progress = new ImportProgress(totalBytes(files), say);
  const rejectLog = new RejectLog(rejects, progress);
  const writer = new MarketWriter(connection.model(Market.name).collection, dryRun);
  const client = connection.getClient();
  const write = (batch: readonly ImportEntry[]) => {
    const writeOnce = () => writer.write(batch);
    return follow ? retryWhileAway(writeOnce, client, signal, progress) : writeOnce();
  };
  const marketImport = new MarketImport(write, rejectLog, progress, signal, follow);
  try {
    rejectLog.open();
    await Promise.race([marketImport.run(files), outOfTime(signal)]);
    await rejectLog.close();
  } finally {
    progress.stop();
    await context.print({ json: marketImport.report, text: summary(marketImport, dryRun) });
  }
  const failures = [...marketImport.failures];
  const { rejected } = marketImport.report;
  if (rejected > maxRejects) failures.push(`${rejected} rejected, ${maxRejects} allowed`);
  if (failures.length > 0) throw new Error(failures.join('\n'));
}

/** Rejects some time after the signal, when an import has not come to its end by itself. */
async function outOfTime(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  await delay(REPORT_AFTER_SIGNAL_MS, undefined, { ref: false });
  throw new Error(
    `${messageOf(signal.reason)}; MongoDB has not acknowledged the last write: it may be done`,
  );
}

/**
 * Makes collections and indexes if that is allowed. Without the index of the identity each market costs a scan of the
 * collection, and imports at the same time store it twice: a feed waits for indexes while MongoDB is away.
 * @returns a warning for each thing that is missing
 * @throws Error when MongoDB is away, and no feed is followed
 */
async function prepare(
  { connection, dbInit, signal, say }: CommandContext,
  follow: boolean,
): Promise<string[]> {
  if (!dbInit) return missingIndexes(connection);
  for (let isFirst = true; ; isFirst = false) {
    const failed = (await initDatabase(connection, say)).filter(({ ok }) => !ok);
    // No import needs the images: while somebody builds an index they can't be turned on.
    const away = failed.find(({ what, isPassing }) => isPassing && what !== IMAGES);
    if (!away) return failed.map(warningOf);
    const { reason = '' } = away;
    if (!follow) throw importFailure(reason);
    if (isFirst) await say(`Waiting for MongoDB: ${printable(reason)}`);
    await delay(TRY_AGAIN_AFTER_MS);
    // The import reads nothing any more, and says so.
    if (signal.aborted) return [];
  }
}

function warningOf({ what, reason = '' }: InitItem): string {
  return `${what} can't be made: ${printable(reason, 500)}`;
}

function summary({ report }: MarketImport, dryRun: boolean): string {
  const { read, inserted, updated, unchanged, rejected } = report;
  const counts = `${inserted} inserted, ${updated} updated, ${unchanged} unchanged, ${rejected} rejected`;
  return `${read} read: ${counts}${dryRun ? ' (dry run: nothing was written)' : ''}`;
}
