import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

const SIDE_BY_SIDE = resolve('scripts/side-by-side.js');

/** `killed` takes npm along, which then has no exit code. */
const SCRIPTS = {
  good: 'exit 0',
  other: 'exit 0',
  bad: 'exit 3',
  killed: 'kill -9 $PPID $$',
  missing: 'no-such-program 2>/dev/null',
};

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-odds-scripts-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts: SCRIPTS }));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it.each([
  ['good other', 0, ''],
  ['good bad', 1, 'npm run bad fails\n'],
  ['good killed', 1, 'npm run killed fails\n'],
  [
    'good missing',
    1,
    'npm run missing fails\nA program that is missing is installed by npm ci --include=dev\n',
  ],
])('scripts side by side: %s ends with %d, and names what fails', async (names, code, told) => {
  const args = [SIDE_BY_SIDE, ...names.split(' ')];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const [stderr, end] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect([end, stderr]).toEqual([[code, null], told]);
});
