import { expect, it } from '@jest/globals';
import { statSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { isAmong, totalBytes } from './files.js';

const FILE = 'package.json';

it.each([
  ['all tell theirs', [FILE, FILE], 2 * statSync(FILE).size],
  ['one has none to tell, as a FIFO', [FILE, tmpdir()], 0],
  ['one is not there', [FILE, 'not there'], 0],
])('knows how long the input is where %s', (_what, files, total) => {
  expect(totalBytes(files)).toBe(total);
});

it('takes what has no content to lose, such as a terminal, for both input and rejects', () => {
  expect([devNull, FILE].map((path) => isAmong(path, [devNull, FILE]))).toEqual([false, true]);
});
