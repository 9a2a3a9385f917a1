import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { testDatabaseUri } from '../mongo.js';
import { until } from '../until.js';

const SOURCES = ['src', 'package.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

it('npm run dev serves again, on the same port, after each change of a .ts file', async () => {
  const checkout = await mkdtemp(join(tmpdir(), 'markets-odds-dev-'));
  for (const name of SOURCES) await cp(name, join(checkout, name), { recursive: true });
  await symlink(resolve('node_modules'), join(checkout, 'node_modules'));
  // What is loaded first.
  const source = join(checkout, 'src/early-signals.ts');
  await appendFile(
    source,
    "console.log('begun');process.once('exit', () => console.log('ended'));\n",
  );
  const port = await freePort();
  const settings = { MONGODB_URI: testDatabaseUri(), HOST: '127.0.0.1', PORT: String(port) };
  const dev = spawn('npm', ['run', '-s', 'dev'], {
    cwd: checkout,
    detached: true,
    env: { ...process.env, NODE_OPTIONS: '', ...settings },
  });
  let said = '';
  for (const output of [dev.stdout, dev.stderr])
    output.setEncoding('utf8').on('data', (text: string) => (said += text));
  const listenings = () => said.split(`Listening on 127.0.0.1:${port}`).length - 1;
  try {
    for (const starts of [1, 2, 3]) {
      await until(() => listenings() === starts || said.includes('Could not start'));
      const { status } = await fetch(`http://127.0.0.1:${port}/health/live`);
      expect(status).toBe(200);
      await appendFile(source, `// change ${starts}\n`);
    }
    expect(said.match(/^(begun|ended)$/gm)).toEqual(['begun', 'ended', 'begun', 'ended', 'begun']);
  } finally {
    const exit = once(dev, 'exit');
    process.kill(-Number(dev.pid), 'SIGKILL');
    await exit;
    await rm(checkout, { recursive: true, maxRetries: 5 });
  }
});
