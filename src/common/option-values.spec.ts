import { expect, it } from '@jest/globals';
import { parseDuration, parseWholeNumber } from './option-values.js';

it.each([
  ['1s', 1_000],
  ['90m', 5_400_000],
  ['24h', 86_400_000],
  ['36500d', 36_500 * 86_400_000],
])('%s is a duration', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(['0s', '36501d', '876001h', '1', '1w', '1.5h', '-1d', ' 1d', '1D'])(
  '%j is none',
  (text) => {
    expect(() => parseDuration(text)).toThrow('36500d at most');
  },
);

it('a whole number is 0 or more', () => {
  expect(['0', '600'].map(parseWholeNumber)).toEqual([0, 600]);
  for (const text of ['-1', '1.5', '1e3', ''])
    expect(() => parseWholeNumber(text)).toThrow('0 or more');
});
