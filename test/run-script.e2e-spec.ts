import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string;

/** As after `npm prune --omit=dev`: nothing that builds is installed. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-odds-run-'));
  await cp('scripts', join(folder, 'scripts'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
});

afterEach(() => rm(folder, { recursive: true }));

function run(name: string) {
  const args = [join('scripts', 'run.js'), name];
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
