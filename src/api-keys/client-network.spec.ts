import { describe, expect, it } from '@jest/globals';
import { clientNetwork } from './client-network.js';

describe('what a client is counted by', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:FFFF:192.0.2.7', '192.0.2.7'],
    ['::ffff:7', '0:0:0:0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2'],
    ['2001:db8:1:2::5:6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['2001:db8::3:4:5:6', '2001:db8:0:0'],
    ['2001:db8:1::3:4:5:6', '2001:db8:1:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['fe80::1%eth0.1-a', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['64:ff9b:1:2:3:4:192.0.2.7', '64:ff9b:1:2'],
    ['1::2:3:4:5:192.0.2.7', '1:0:2:3'],
    ['192.0.2.7:443', '192.0.2.7'],
    ['[2001:db8:1:2::5]:443', '2001:db8:1:2'],
    ['192.0.2.7:', ''],
    ['', ''],
    ['unknown', ''],
    ['::ffff:999.0.2.7', ''],
    ['x'.repeat(9_000), ''],
  ])('of %s is %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  });

  it('is one thing for whoever hides the address', () => {
    expect(clientNetwork(undefined)).toBe('');
  });
});
