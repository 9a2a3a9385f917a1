import type { Command } from 'commander';
import { formatTable, type CommandContext, type RunCommand } from '../common/command.js';
import { printable } from '../common/text.js';
import type { NewestInOplog } from './newest-change.js';
import type { DatabaseStatus } from './status.js';

const REASON_LENGTH_MAX = 500;

/** `db init | status` */
export function addDbCommands(program: Command, run: RunCommand): void {
  const db = program.command('db').description('The database of the service.');
  db.command('init')
    .description('Make collections and indexes where they are missing; nothing is ever dropped.')
    .action(run(init));
  db.command('status')
    .description('Show server, collections, indexes, and whether changes are told as they happen.')
    .action(run(status));
}

async function init({ connection, print, say }: CommandContext): Promise<void> {
  const { initDatabase } = await import('../database/init.js');
  const items = await initDatabase(connection, say);
  const lines = items.map(({ what, ok, reason }) => {
    const because = reason ? `: ${printable(reason, REASON_LENGTH_MAX)}` : '';
    return `${ok ? 'ok    ' : 'FAILED'}  ${what}${because}`;
  });
  await print({ json: { items }, text: lines.join('\n') });
  const failed = items.filter(({ ok }) => !ok).length;
  if (failed > 0) throw new Error(`${failed} of ${items.length} could not be made`);
}

async function status({ connection, print }: CommandContext): Promise<void> {
  const { databaseStatus } = await import('./status.js');
  const result = await databaseStatus(connection);
  await print({ json: result, text: statusText(result) });
}

function statusText(result: DatabaseStatus): string {
  const { topology, changeFeed } = result;
  const set = topology.replicaSet ? ` ${topology.replicaSet}` : '';
  const members = topology.members?.map(({ name, state }) => `${name} ${state}`).join(', ');
  const why = printable(changeFeed.reason ?? '', REASON_LENGTH_MAX);
  const facts = [
    ['database', result.database],
    ['MongoDB', result.serverVersion ?? 'unknown'],
    ['topology', `${topology.type}${set}${members ? `: ${members}` : ''}`],
    ['change feed', changeFeed.on ? 'on' : `off: ${why}`],
    ['newest change', newestChangeText(result.newestChange)],
  ];
  const collections = result.collections.map((found) => [
    found.name,
    yesNo(found.exists),
    found.estimatedCount === null ? 'unknown' : `about ${found.estimatedCount}`,
    found.preAndPostImages === undefined ? '' : yesNo(found.preAndPostImages),
  ]);
  const indexes = result.indexes.map(({ collection, name, present }) => [
    `${collection}.${name}`,
    yesNo(present),
  ]);
  return [
    formatTable(facts),
    formatTable([['COLLECTION', 'THERE', 'RECORDS', 'PRE- AND POST-IMAGES'], ...collections]),
    formatTable([['INDEX', 'THERE'], ...indexes]),
  ].join('\n\n');
}

function newestChangeText(newest: NewestInOplog | null): string {
  if (!newest) return 'unknown';
  if (newest.at === null) return `none in the oplog of the last ${newest.searchedSeconds} s`;
  return `${newest.at}, ${newest.ageSeconds} s ago`;
}

function yesNo(fact: boolean | null): string {
  if (fact === null) return 'unknown';
  return fact ? 'yes' : 'no';
}
