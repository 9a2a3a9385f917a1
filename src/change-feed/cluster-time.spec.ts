import { describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { clusterTimeOf } from './cluster-time.js';

describe('clusterTimeOf', () => {
  it('reads seconds and increment of the token of an event', () => {
    const _data =
      '826920000B000000022B042C0100296E5A1004D0D3BF2A5D6A4C0F9C8E1D2B3A4F5C6D46645F696400';
    expect(clusterTimeOf({ _data })).toEqual(new Timestamp({ t: 0x6920000b, i: 2 }));
  });

  it('reads the token of a stream to which nothing has happened', () => {
    const _data = '82FFFFFFFFFFFFFFFF2B0429296E1404';
    expect(clusterTimeOf({ _data })).toEqual(new Timestamp({ t: 0xffffffff, i: 0xffffffff }));
  });

  it.each(['', '8269', '7269200000000000012B', '82zz20000000000001'])('refuses %j', (_data) => {
    expect(() => clusterTimeOf({ _data })).toThrow('unknown form');
  });
});
