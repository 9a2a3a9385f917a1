import { describe, expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { DEMO_KEY } from './demo-key.js';
import { generateKey, hashKey, keyIdOf, matchesHash, parseKey, withChecksum } from './key-form.js';

function matches(text: string, stored: unknown): boolean | undefined {
  const key = parseKey(text);
  return key && matchesHash(key, stored);
}

const secret = 'a'.repeat(32);

describe('the form of a key', () => {
  // Checksums made apart from the code, with Python's zlib.crc32.
  it.each([
    ['mos_000000000000_00000000000000000000000000000000', '4BTWBp'],
    ['mos_abcABC012345_zyxwvutsrqponmlkjihgfedcbaZYXWVU', '49B92J'],
    ['mos_000000000036_qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq', '00R0El'],
  ])('has the CRC-32 of %s in base 62', (body, checksum) => {
    expect(withChecksum(body)).toBe(body + checksum);
  });

  it('is that of every new key, and no two are alike', () => {
    // From some of its numbers anybody can tell the next ones.
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const keys = Array.from({ length: 1_000 }, generateKey);
    jest.restoreAllMocks();
    for (const key of keys)
      expect(key).toMatch(/^mos_[0-9A-Za-z]{12}_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/);
    expect(keys.map(keyIdOf)).toEqual(keys.map((key) => key.slice(4, 16)));
    expect(new Set(keys).size).toBe(1_000);
  });

  it('uses all 62 characters about equally often', () => {
    const text = Array.from({ length: 5_000 }, () => generateKey().slice(17, 49)).join('');
    const counts = new Map<string, number>();
    for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect(counts.size).toBe(62);
    const expected = text.length / 62;
    const chiSquare = [...counts.values()].reduce(
      (sum, count) => sum + (count - expected) ** 2 / expected,
      0,
    );
    // 61 degrees of freedom: 130 is exceeded by chance once in some 700,000 runs.
    expect(chiSquare).toBeLessThan(130);
  });

  it('is that of the demo key', () => {
    expect(keyIdOf(DEMO_KEY)).toBe('demo00000000');
  });

  it.each([
    ['one character of the id changed', DEMO_KEY.replace('demo0', 'demo1')],
    ['one character of the secret changed', DEMO_KEY.replace('This', 'Thiz')],
    ['one character of the checksum changed', DEMO_KEY.replace(/.$/, 'l')],
    ['a line feed behind it', `${DEMO_KEY}\n`],
    ['a space before it', ` ${DEMO_KEY}`],
    ['another prefix', withChecksum(`mox_abcdefabcdef_${secret}`)],
    ['a short id', withChecksum(`mos_abcdefabcde_${secret}`)],
    ['a long secret', withChecksum(`mos_abcdefabcdef_${secret}a`)],
    ['a digit of another script', withChecksum(`mos_abcdefabcde\u0661_${secret}`)],
    ['two keys with a comma, as Node joins headers', `${DEMO_KEY}, ${DEMO_KEY}`],
    ['nothing', ''],
  ])('is refused with %s', (_what, text) => {
    expect(keyIdOf(text)).toBeUndefined();
  });
});

describe('a key at rest', () => {
  it('is its SHA-256 in hex', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('is matched by that key alone', () => {
    const key = generateKey();
    expect(matches(key, hashKey(key))).toBe(true);
    expect(matches(generateKey(), hashKey(key))).toBe(false);
    const lastDigit = hashKey(key).endsWith('0') ? '1' : '0';
    expect(matches(key, hashKey(key).slice(0, -1) + lastDigit)).toBe(false);
  });

  it.each([undefined, null, 7, '', 'zz', hashKey('x').slice(2)])(
    'is matched by none when %p is stored instead',
    (stored) => {
      expect(matches(generateKey(), stored)).toBe(false);
    },
  );
});

describe('the pattern for secret scanners', () => {
  const page = readFileSync('docs/secret-scanning.md', 'utf8');
  const [, source = ''] = /^regex = '''(.*)'''$/m.exec(page) ?? [];
  const pattern = new RegExp(source);

  it.each([
    ['a URL', (key: string) => `https://odds.example/v1/x?api_key=${key}&page=2`],
    ['a header', (key: string) => `X-API-Key: ${key}\r\n`],
    ['JSON', (key: string) => `{"key":"${key}"}`],
    ['an environment file', (key: string) => `ODDS_KEY=${key}`],
  ])('finds a key in %s', (_where, text) => {
    const key = generateKey();
    expect(pattern.exec(text(key))?.[0]).toBe(key);
  });

  it.each(['mos_short_x', 'atmos_abcdefabcdef_'.padEnd(60, 'a'), `${DEMO_KEY}x`])(
    'finds none in %s',
    (text) => {
      expect(pattern.test(text)).toBe(false);
    },
  );

  it('stands in the documentation, plain and as the gitleaks rule', () => {
    expect(page).toContain(`\n\\bmos_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}\\b\n`);
    expect(page).toContain(`\n${source}\n`);
    expect(page).toContain(`regexes = ['''${DEMO_KEY}''']`);
  });
});
