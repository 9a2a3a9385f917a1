import { expect, it } from '@jest/globals';
import { formatTable } from './command.js';

it('a table has columns as wide as their longest cell, however many rows there are', () => {
  const rows = Array.from({ length: 150_000 }, () => ['a', 'b']);
  const lines = formatTable([['ID', 'NAME'], ...rows, ['abc', 'd']]).split('\n');
  expect(lines).toHaveLength(rows.length + 2);
  expect(lines.slice(0, 2)).toEqual(['ID   NAME', 'a    b']);
});
