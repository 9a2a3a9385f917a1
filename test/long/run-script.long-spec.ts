import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { moduleOf } from '../module-of.js';

let folder: string;

/** As after `npm prune --omit=dev`: nothing that builds is installed. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-odds-run-'));
  await cp('scripts', join(folder, 'scripts'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
});

afterEach(() => rm(folder, { recursive: true }));

function run(name: string, nodeArgs: readonly string[] = []) {
  const args = [...nodeArgs, join('scripts', 'run.js'), name];
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
}

it('what was built runs where nothing that builds is installed', async () => {
  await mkdir(join(folder, 'dist'));
  await writeFile(join(folder, 'dist', 'main.js'), 'console.log("runs")');
  expect(run('main')).toMatchObject({ status: 0, stdout: 'runs\n', stderr: '' });
});

it('what was not built says how to install what builds', () => {
  const stderr = 'It is not built yet, and what builds it is not installed: npm ci --include=dev\n';
  expect(run('main')).toMatchObject({ status: 1, stdout: '', stderr });
});

it('says which Node.js it needs where that is too old for it', async () => {
  const engines = { node: '^20.19.0 || >=22.12.0' };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', engines }));
  const asNode18 = "Object.defineProperty(process, 'versions', { value: { node: '18.20.4' } })";
  const stderr = `Needs Node.js ${engines.node}: this is 18.20.4\n`;
  const { status, stderr: said } = run('main', ['--import', moduleOf(asNode18)]);
  expect({ status, said }).toEqual({ status: 1, said: stderr });
});

/** Builds a program that says how often it was built; while it is built first, somebody goes on writing. */
const BUILD = `
  import { existsSync, readFileSync, mkdirSync, writeFileSync } from 'node:fs';
  const count = existsSync('count') ? Number(readFileSync('count')) + 1 : 1;
  if (count === 1) writeFileSync('src/main.ts', '');
  mkdirSync('dist', { recursive: true });
  writeFileSync('dist/main.js', 'console.log("' + count + '")');
  writeFileSync('count', String(count));
  console.log('Built, as nest says on stdout');`;

it('what changed since the last build began is built first, and nothing else', async () => {
  await mkdir(join(folder, 'node_modules', '.bin'), { recursive: true });
  await mkdir(join(folder, 'src', 'deep'), { recursive: true });
  const files = {
    'package.json': '{ "type": "module", "scripts": { "build": "node build.js" } }',
    'build.js': BUILD,
    'src/main.ts': '',
    'src/deep/other.ts': '',
    'node_modules/.bin/nest': '',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const outputs = [run('main'), run('main'), run('main')].map(({ stdout }) => stdout);
  expect(outputs).toEqual(['1\n', '2\n', '2\n']);
  const beside = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'nest-cli.json'];
  for (const [index, name] of beside.entries()) {
    await writeFile(join(folder, name), '{}');
    expect(run('main').stdout).toBe(`${index + 3}\n`);
  }
  const source = join(folder, 'src/deep/other.ts');
  await writeFile(source, '//');
  expect(run('main').stdout).toBe('7\n');
  // What can not be built does not run, nor the next time.
  await writeFile(join(folder, 'build.js'), 'process.exit(1)');
  await writeFile(source, '/* */');
  for (const again of [false, true])
    expect([again, run('main')]).toMatchObject([again, { status: 1, stdout: '' }]);
  await writeFile(join(folder, 'build.js'), BUILD);
  expect(run('main').stdout).toBe('8\n');
  // The files of an archive may be older than the last build.
  await utimes(source, 0, 0);
  expect(run('main').stdout).toBe('9\n');
});
