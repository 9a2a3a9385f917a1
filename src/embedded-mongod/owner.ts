import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { adminCommand } from './replica-set.js';

export const REPLICA_SET = 'embedded';

/** Who runs the mongod of a data path. The file stays when the owner ends: it marks the path as ours. */
export interface Owner {
  readonly pid: number;
  /** The name by which a user knows the program, such as `keys list`. */
  readonly name: string;
  /** The port of mongod. The next mongod takes the same, so that connection strings stay true. */
  readonly port: number;
  /** Whether others may use its mongod. */
  readonly shared: boolean;
}

const FILE = 'embedded.json';

/** Files of a data path of MongoDB. The first may be missing from a backup. */
const MONGOD_LOCK = 'mongod.lock';
const FILES_OF_MONGOD = [MONGOD_LOCK, 'storage.bson', 'WiredTiger'];
const ANSWER_MS = 2_000;

export async function readOwner(dbPath: string): Promise<Owner | undefined> {
  try {
    const owner: Owner = JSON.parse(await readFile(join(dbPath, FILE), 'utf8'));
    return Number.isInteger(owner.port) ? owner : undefined;
  } catch {
    return undefined;
  }
}

export async function writeOwner(dbPath: string, owner: Partial<Owner>): Promise<void> {
  await writeFile(join(dbPath, FILE), JSON.stringify(owner));
}

/**
 * Marks a data path as ours before mongod first writes there.
 * @throws Error if a MongoDB that is not ours keeps its data there
 */
export async function markAsOurs(dbPath: string): Promise<void> {
  const files = await readdir(dbPath);
  if (files.includes(FILE)) return;
  if (!FILES_OF_MONGOD.some((name) => files.includes(name))) return writeOwner(dbPath, {});
  // mongod empties the file when it ends.
  const lock = await readFile(join(dbPath, MONGOD_LOCK), 'utf8').catch(() => '');
  throw new Error(
    lock
      ? 'another mongod is using this data path'
      : 'it holds the data of another MongoDB. Set EMBEDDED_DB_PATH to another folder',
  );
}

export function uriOf({ port }: Owner): string {
  return `mongodb://127.0.0.1:${port}/?replicaSet=${REPLICA_SET}`;
}

/** Whether the mongod that the owner started on this data path answers. */
export async function isRunning(owner: Owner, dbPath: string): Promise<boolean> {
  if ((await freePort(owner.port)) === owner.port) return false;
  const timeouts = { serverSelectionTimeoutMS: ANSWER_MS, connectTimeoutMS: ANSWER_MS };
  const answer = adminCommand(uriOf(owner), { getCmdLineOpts: 1 }, timeouts);
  return answer.then(
    ({ parsed }) => parsed.storage?.dbPath === dbPath,
    () => false,
  );
}
