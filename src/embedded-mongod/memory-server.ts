import { createRequire } from 'node:module';
import { execute } from './mongod-program.js';
import { DOWNLOAD_TIMEOUT } from './mongod-wheel.js';

const DOWNLOAD_HOST = 'https://fastdl.mongodb.org';

/** @throws Error when the host that mongodb-memory-server downloads from does not answer */
export async function expectDownloadHost(env: NodeJS.ProcessEnv): Promise<void> {
  // fetch() knows no proxy; mongodb-memory-server does.
  if (Object.keys(env).some((name) => /^(npm_config_)?https?_?proxy$/i.test(name))) return;
  const host = env['MONGOMS_DOWNLOAD_URL'] || env['MONGOMS_DOWNLOAD_MIRROR'] || DOWNLOAD_HOST;
  await fetch(host, { method: 'HEAD', signal: AbortSignal.timeout(3_000) }).catch(() => {
    throw new Error(`${new URL(host).host} does not answer`);
  });
}

/** The mongod that mongodb-memory-server has, or downloads. It runs in a process of its own: quiet, and it can be ended. */
export async function memoryServerMongod(env: NodeJS.ProcessEnv): Promise<string> {
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
