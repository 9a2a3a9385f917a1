import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { welcome } from './welcome.js';

it('is what README.md shows', async () => {
  expect(await readFile('README.md', 'utf8')).toContain(welcome(3000).trim());
});
