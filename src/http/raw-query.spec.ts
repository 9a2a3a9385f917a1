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

  it.each(['%&', '%FF&', '&', 'a&', 'a=%&'])('reads 16 KiB of %s in no time', (part) => {
    const target = `/path?${part.repeat(16_384 / part.length)}`;
    const times = Array.from({ length: 20 }, () => {
      const began = performance.now();
      readQuery(target);
      return performance.now() - began;
    });
    expect(Math.min(...times)).toBeLessThan(10);
  });
});
