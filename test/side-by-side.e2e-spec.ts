import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const SIDE_BY_SIDE = resolve('scripts/side-by-side.js');

/** `killed` takes npm along, which then has no exit code. */
const SCRIPTS = { good: 'exit 0', other: 'exit 0', bad: 'exit 3', killed: 'kill -9 $PPID $$' };

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-odds-scripts-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts: SCRIPTS }));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it.each([
  ['good other', 0],
  ['good bad', 1],
  ['good killed', 1],
])('scripts side by side: %s ends with %d', async (names, code) => {
  const args = [SIDE_BY_SIDE, ...names.split(' ')];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([code, null]);
});
