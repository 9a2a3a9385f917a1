import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GUARD_NAME } from './mongod-process.js';

/** The mongod that runs on a data path. */
export interface PathHolder {
  readonly pid: number;
  /** Both its keeper and its guard were killed: nobody else will end it. */
  readonly orphaned: boolean;
}

/** Who holds the data path. Known only where /proc tells about processes. */
export async function findPathHolder(dbPath: string): Promise<PathHolder | undefined> {
  const pid = Number(await textOf(join(dbPath, 'mongod.lock')));
  const command = (await textOf(`/proc/${pid}/cmdline`)).split('\0');
  if (!(pid > 0) || !command.includes(`--dbpath=${dbPath}`)) return undefined;
  const parent = /^PPid:\s*(\d+)$/m.exec(await textOf(`/proc/${pid}/status`))?.[1];
  const guarded = (await textOf(`/proc/${parent}/cmdline`)).includes(GUARD_NAME);
  return { pid, orphaned: !guarded };
}

/** Kills a mongod; resolves when it holds the data path no longer. */
export async function killPathHolder({ pid }: PathHolder): Promise<void> {
  process.kill(pid, 'SIGKILL');
  // A dead process that nobody has reaped yet has no command line any more.
  while ((await textOf(`/proc/${pid}/cmdline`)) !== '') await delay(20);
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
