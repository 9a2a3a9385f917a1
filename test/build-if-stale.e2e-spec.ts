import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SCRIPT = new URL('../scripts/build-if-stale.js', import.meta.url).href;
const RUN = `(await import(${JSON.stringify(SCRIPT)})).buildIfStale()`;

let folder: string;

/** A checkout whose build copies one file. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-odds-build-'));
  for (const each of ['src', 'dist', 'node_modules/.bin'])
    await mkdir(join(folder, each), { recursive: true });
  await writeFile(join(folder, 'node_modules/.bin/nest'), '');
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ scripts: { build: 'cp src/main.ts dist/main.js' } }),
  );
});

afterEach(() => rm(folder, { recursive: true }));

/** What runs after a source was written that is as old as that. */
async function built(source: string, changedAt: string): Promise<string> {
  const file = join(folder, 'src/main.ts');
  await writeFile(file, source);
  await utimes(file, new Date(changedAt), new Date(changedAt));
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', RUN], { cwd: folder });
  return readFile(join(folder, 'dist/main.js'), 'utf8');
}

it('builds what has changed, though it is older than the last build, as the files of an archive are', async () => {
  expect(await built('one', '2026-01-02')).toBe('one');
  expect(await built('two', '2026-01-01')).toBe('two');
});

it('builds nothing that is as it was', async () => {
  await built('one', '2026-01-02');
  await writeFile(join(folder, 'dist/main.js'), 'what was built');
  expect(await built('one', '2026-01-02')).toBe('what was built');
});
