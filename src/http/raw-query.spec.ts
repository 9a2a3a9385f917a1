import { describe, expect, it } from '@jest/globals';
import { readQuery } from './raw-query.js';

describe('readQuery', () => {
  it.each([
    [
      'a=b+c&d=%C3%A9',
      [
        ['a', 'b c'],
        ['d', 'é'],
      ],
    ],
    ['a%3D=%26%2B', [['a=', '&+']]],
    [
      '&a&&b=',
      [
        ['a', ''],
        ['b', ''],
      ],
    ],
    ['a=%', [['a', '%', 'value']]],
    ['a=%2', [['a', '%2', 'value']]],
    ['a=%2+', [['a', '%2+', 'value']]],
    ['a=%zz', [['a', '%zz', 'value']]],
    ['a=%C3', [['a', '%C3', 'value']]],
    ['a=%C0%AF', [['a', '%C0%AF', 'value']]],
    ['a=%ED%A0%80', [['a', '%ED%A0%80', 'value']]],
    ['a=%F4%90%80%80', [['a', '%F4%90%80%80', 'value']]],
    ['a=%EF%BB%BFx', [['a', '\uFEFFx']]],
    ['%=a', [['%=a', '', 'name']]],
  ])('reads %s', (query, parts) => {
    expect(readQuery(`/path?${query}`)).toEqual(parts);
  });

  it.each(['%&', '%FF&', 'a=%&'])('reads many of %s about as fast as what is good', (broken) => {
    expect(quickest(broken) / quickest('%C3%A9&')).toBeLessThan(5);
  });
});

/** The best of some, in milliseconds: whatever else the process does only adds. */
function quickest(part: string): number {
  const target = `/path?${part.repeat(2_000)}`;
  const times = Array.from({ length: 30 }, () => {
    const began = performance.now();
    readQuery(target);
    return performance.now() - began;
  });
  return Math.min(...times);
}
