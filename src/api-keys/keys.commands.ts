import { InvalidArgumentError, type Command } from 'commander';
import type { CommandContext, RunCommand } from '../common/command.js';
import { printable } from '../common/text.js';
import { parseDuration, parseWholeNumber } from '../common/option-values.js';
import { redact } from '../common/redact.js';
import { ApiKeysService, type NewKey, type Show } from './api-keys.service.js';
import { keysTable, shownKey } from './shown-key.js';

const NAME_LENGTH_MAX = 100;
const DAY_MS = 86_400_000;

interface CreateOptions extends Omit<NewKey, 'expiresInMs'> {
  readonly expiresIn?: number;
}

interface RotateOptions {
  readonly overlap?: number;
}

/** `keys create | list | revoke | rotate` */
export function addKeysCommands(program: Command, run: RunCommand): void {
  const keys = program.command('keys').description('The API keys of callers.');
  keys
    .command('create')
    .description('Make a key and print it, this once.')
    .requiredOption('--name <name>', 'whose key it is', parseName)
    .option(
      '--expires-in <duration>',
      'how long it works, such as 90d (default: no end)',
      parseDuration,
    )
    .option(
      '--rate-limit <requests>',
      "requests per minute, 0 for no limit (default: the server's)",
      parseWholeNumber,
    )
    .option(
      '--streams <number>',
      "streams open at a time, 0 for none (default: the server's)",
      parseWholeNumber,
    )
    .action(run(create));
  keys.command('list').description('Show all keys, without their secrets.').action(run(list));
  keys
    .command('revoke')
    .description('End a key: within 2 seconds it is refused everywhere.')
    .argument('<id>', 'id of the key')
    .action(run(revoke));
  keys
    .command('rotate')
    .description('Make a key of the same name and limits that takes the place of another.')
    .argument('<id>', 'id of the key to replace')
    .option(
      '--overlap <duration>',
      'how long the old key still works (default: 24h)',
      parseDuration,
    )
    .action(run(rotate));
}

async function create(context: CommandContext, { expiresIn, ...fields }: CreateOptions) {
  const service = new ApiKeysService(context.connection, context.say);
  await service.create({ ...fields, expiresInMs: expiresIn }, showOnce(context));
}

async function list(context: CommandContext): Promise<void> {
  const service = new ApiKeysService(context.connection, context.say);
  const keys = (await service.list()).map(shownKey);
  await context.print({ json: keys, text: keysTable(keys) });
}

async function revoke(context: CommandContext, id: string): Promise<void> {
  const service = new ApiKeysService(context.connection, context.say);
  const record = shownKey(await service.revoke(id));
  await context.print({ json: record, text: `Revoked ${id} (${printable(record.name)}).` });
}

async function rotate(context: CommandContext, id: string, { overlap = DAY_MS }: RotateOptions) {
  const service = new ApiKeysService(context.connection, context.say);
  await service.rotate(id, { overlapMs: overlap }, showOnce(context));
}

/** The key stands alone on stdout, easy to copy or to pipe. */
function showOnce(context: CommandContext): Show {
  return async ({ key, record }) => {
    const { id, ...rest } = shownKey(record);
    await context.deliver({ json: { id, key, ...rest }, text: key });
    await context.say(`Key ${id} (${printable(record.name)}): keep it now, it is shown this once.`);
  };
}

function parseName(text: string): string {
  const name = text.trim();
  const isShown = name === redact(printable(name));
  // Not its length: an emoji is one character, and two UTF-16 units.
  if (name && [...name].length <= NAME_LENGTH_MAX && isShown) return name;
  throw new InvalidArgumentError(
    `It must be 1 to ${NAME_LENGTH_MAX} printable characters, not a key.`,
  );
}
