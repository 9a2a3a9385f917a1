import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { DOWNLOAD_TIMEOUT } from './mongod-wheel.js';

const execute = promisify(execFile);

const DOWNLOAD_HOST = 'https://fastdl.mongodb.org';

type Env = NodeJS.ProcessEnv;

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
