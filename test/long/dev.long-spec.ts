import { expect, it } from '@jest/globals';
import { appendFile, cp, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { folder, ownDataPaths, start } from '../embedded-processes.js';
import { testDatabaseUri } from '../mongo.js';
import { until } from '../until.js';

const SOURCES = ['src', 'package.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

ownDataPaths();

it('npm run dev serves again, on the same port, after each change of a .ts file', async () => {
  for (const name of SOURCES) await cp(name, join(folder, name), { recursive: true });
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  // What is loaded first.
  const source = join(folder, 'src/early-signals.ts');
  await appendFile(
    source,
    "console.log('begun');process.once('exit', () => console.log('ended'));\n",
  );
  const port = await freePort();
  const settings = { MONGODB_URI: testDatabaseUri(), HOST: '127.0.0.1', PORT: String(port) };
  const dev = start('npm', ['run', '-s', 'dev'], settings, folder);
  let said = '';
  for (const output of [dev.stdout, dev.stderr])
    output?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const listenings = () => said.split(`Listening on 127.0.0.1:${port}`).length - 1;
  for (const starts of [1, 2, 3]) {
    await until(() => listenings() === starts || said.includes('Could not start'));
    const { status } = await fetch(`http://127.0.0.1:${port}/health/live`);
    expect(status).toBe(200);
    await appendFile(source, `// change ${starts}\n`);
  }
  expect(said.match(/^(begun|ended)$/gm)).toEqual(['begun', 'ended', 'begun', 'ended', 'begun']);
});
