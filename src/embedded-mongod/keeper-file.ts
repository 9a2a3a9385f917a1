import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How to reach the keeper of a data path; readable by its owner only. */
export interface KeeperFile {
  /** The keeper's process, for whoever looks for it. */
  readonly pid: number;
  /** Port of the keeper on 127.0.0.1. */
  readonly port: number;
  /** What a user says to be let in. */
  readonly token: string;
  /** Port of mongod: its next start takes the same one, so that connection strings stay true. */
  readonly mongodPort: number;
}

export async function readKeeperFile(dbPath: string): Promise<KeeperFile | undefined> {
  try {
    const file: KeeperFile = JSON.parse(await readFile(fileIn(dbPath), 'utf8'));
    return Number.isInteger(file.port) && Number.isInteger(file.mongodPort) ? file : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the file in one step: a reader sees the old or the new one. */
export async function writeKeeperFile(dbPath: string, file: KeeperFile): Promise<void> {
  const draft = `${fileIn(dbPath)}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, JSON.stringify(file), { mode: 0o600 });
    await rename(draft, fileIn(dbPath));
  } finally {
    await rm(draft, { force: true });
  }
}

function fileIn(dbPath: string): string {
  return join(dbPath, 'keeper.json');
}
