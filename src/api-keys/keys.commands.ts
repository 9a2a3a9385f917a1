import { InvalidArgumentError, type Command } from 'commander';
import {
  CommandFailure,
  formatTable,
  parseDuration,
  parseWholeNumber,
  printable,
  type CommandContext,
  type RunCommand,
} from '../common/command.js';
import type { StoredApiKey } from './api-key.schema.js';
import { ApiKeysService, KeyFault, type IssuedKey } from './api-keys.service.js';

const LONGEST_NAME = 100;
const DAY_MS = 86_400_000;

interface CreateOptions {
  readonly name: string;
  readonly expiresIn?: number;
  readonly rateLimit?: number;
}

interface RotateOptions {
  readonly overlap: number;
}

/** `keys create | list | revoke | rotate` */
export function addKeysCommands(program: Command, run: RunCommand): void {
  const keys = program.command('keys').description('the API keys of callers');
  keys
    .command('create')
    .description('make a key and print it, this once')
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
    .action(run(create));
  keys.command('list').description('show all keys, without their secrets').action(run(list));
  keys
    .command('revoke')
    .description('end a key: within 2 seconds it is refused everywhere')
    .argument('<id>', 'id of the key')
    .action(run(revoke));
  keys
    .command('rotate')
    .description('make a key of the same name and limit that takes the place of another')
    .argument('<id>', 'id of the key to replace')
    .option('--overlap <duration>', 'how long the old key still works', parseDuration, DAY_MS)
    .action(run(rotate));
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { name, expiresIn: expiresInMs, rateLimit } = options;
  const service = context.app.get(ApiKeysService);
  showOnce(context, await service.create({ name, expiresInMs, rateLimit }));
}

async function list({ app, print }: CommandContext): Promise<void> {
  const records = await app.get(ApiKeysService).list();
  const heading = ['ID', 'NAME', 'STATE', 'CREATED', 'EXPIRES', 'PER MINUTE'];
  const rows = records.map((record) => [
    record._id,
    printable(record.name),
    stateOf(record),
    record.createdAt.toISOString(),
    record.expiresAt?.toISOString() ?? 'never',
    record.rateLimit === undefined ? 'default' : String(record.rateLimit),
  ]);
  print({ json: records.map(shown), text: formatTable([heading, ...rows]) });
}

async function revoke({ app, print }: CommandContext, id: string): Promise<void> {
  const record = await told(app.get(ApiKeysService).revoke(id));
  print({ json: shown(record), text: `Revoked ${record._id} (${printable(record.name)}).` });
}

async function rotate(context: CommandContext, id: string, options: RotateOptions): Promise<void> {
  const service = context.app.get(ApiKeysService);
  showOnce(context, await told(service.rotate(id, { overlapMs: options.overlap })));
}

/** The key stands alone on stdout, easy to copy or to pipe. */
function showOnce({ print, say }: CommandContext, { key, record }: IssuedKey): void {
  const { id, ...rest } = shown(record);
  print({ json: { id, key, ...rest }, text: key });
  say(`Key ${id} (${printable(record.name)}): keep it now, it is shown this once.`);
}

function shown(record: StoredApiKey) {
  return {
    id: record._id,
    name: record.name,
    state: stateOf(record),
    createdAt: record.createdAt.toISOString(),
    expiresAt: record.expiresAt?.toISOString() ?? null,
    revokedAt: record.revokedAt?.toISOString() ?? null,
    rateLimit: record.rateLimit ?? null,
    rotatedFrom: record.rotatedFrom ?? null,
    rotatedTo: record.rotatedTo ?? null,
  };
}

function stateOf({ revokedAt, expiresAt }: StoredApiKey): 'active' | 'revoked' | 'expired' {
  if (revokedAt) return 'revoked';
  return expiresAt && expiresAt <= new Date() ? 'expired' : 'active';
}

function parseName(text: string): string {
  const name = text.trim();
  if (name && name.length <= LONGEST_NAME && name === printable(name)) return name;
  throw new InvalidArgumentError(`It must be 1 to ${LONGEST_NAME} printable characters.`);
}

/** Tells the person at the terminal what can't be done, rather than where in the code. */
async function told<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    throw error instanceof KeyFault ? new CommandFailure(error.message) : error;
  }
}
