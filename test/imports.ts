import { aMarket } from './factories.js';
import { runCli } from './run-cli.js';

/** Fields that `{}` lacks. */
export const REQUIRED_FIELDS = 9;

const NOTHING = { read: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0 };

type Report = typeof NOTHING;

/** A record without its dates. */
export function aRecord(overrides: object = {}) {
  const { createdAt: _createdAt, updatedAt: _updatedAt, ...record } = aMarket();
  return { ...record, ...overrides };
}

export function ndjson(...records: unknown[]): string {
  return records.map((record) => JSON.stringify(record)).join('\n');
}

/** Runs an import to its end, as a program of its own unless told otherwise. */
export async function importTo(
  mongodbUri: string,
  args: string[],
  input?: string | Uint8Array,
  run = runCli,
) {
  const env = { MONGODB_URI: mongodbUri };
  const result = await run(['markets', 'import', '--json', ...args], { env, input });
  const report: Report | null = JSON.parse(result.stdout || 'null');
  return { ...result, report };
}

export function counts(report: Partial<typeof NOTHING>) {
  return { ...NOTHING, ...report };
}
