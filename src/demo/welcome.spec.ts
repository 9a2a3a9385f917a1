import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { welcome } from './welcome.js';

it('is what README.md shows', async () => {
  expect(await readFile('README.md', 'utf8')).toContain(welcome('0.0.0.0', 3000, true).trim());
});

it.each([
  ['::', 'localhost'],
  ['127.0.0.1', 'localhost'],
  ['::1', 'localhost'],
  ['127.0.0.2', '127.0.0.2'],
  ['odds.example.com', 'odds.example.com'],
  ['2001:db8::1', '[2001:db8::1]'],
])('names the host that is listened on: %s', (host, named) => {
  expect(welcome(host, 3000, true)).toContain(`'http://${named}:3000/v1/markets/`);
});

it('has no line to try where the demo markets are not, for that would answer with an empty list', () => {
  expect(welcome('::', 3000, false)).not.toContain('demo-fixture-1');
});
