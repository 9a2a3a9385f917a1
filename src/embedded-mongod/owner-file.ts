import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Who runs the mongod of a data path. The file stays when the owner ends: it marks the path as ours. */
export interface Owner {
  readonly pid: number;
  /** What a user calls it, such as `keys list`. */
  readonly name: string;
  /** Of mongod. The next one takes the same, so that connection strings stay true. */
  readonly port: number;
  /** Whether others may use its mongod. */
  readonly shared: boolean;
}

const NAME = 'embedded.json';
const NAME_BEFORE = 'keeper.json';

export async function readOwner(dbPath: string): Promise<Owner | undefined> {
  try {
    const owner: Owner = JSON.parse(await readFile(join(dbPath, NAME), 'utf8'));
    return Number.isInteger(owner.port) ? owner : undefined;
  } catch {
    return undefined;
  }
}

export async function writeOwner(dbPath: string, owner: Owner): Promise<void> {
  await writeFile(join(dbPath, NAME), JSON.stringify(owner));
}

/**
 * Marks a data path as ours before mongod first writes there.
 * @throws Error if a MongoDB that is not ours keeps its data there
 */
export async function markAsOurs(dbPath: string): Promise<void> {
  const files = await readdir(dbPath);
  if (files.includes(NAME)) return;
  if (!files.includes('mongod.lock') || files.includes(NAME_BEFORE)) {
    return writeFile(join(dbPath, NAME), '{}');
  }
  // mongod empties the file when it ends.
  const inUse = (await readFile(join(dbPath, 'mongod.lock'), 'utf8')) !== '';
  throw new Error(
    inUse
      ? 'another mongod is using this data path'
      : 'it holds the data of another MongoDB. Set EMBEDDED_DB_PATH to another folder',
  );
}
