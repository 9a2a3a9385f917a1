import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { readCommitted } from './committed.js';

const GENERATOR = resolve('node_modules/@hey-api/openapi-ts/bin/run.js');

it('the types of the client are those of openapi.json', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'markets-odds-types-'));
  try {
    const args = ['-i', resolve('openapi.json'), '-o', folder, '-p', '@hey-api/typescript', '-s'];
    await promisify(execFile)(process.execPath, [GENERATOR, ...args], { cwd: folder });
    const types = await readFile(join(folder, 'types.gen.ts'), 'utf8');
    expect(await readCommitted('clients/typescript/src/types.gen.ts', types)).toBe(types);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
