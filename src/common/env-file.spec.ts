import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEnvFile } from './env-file.js';

const LINES = 'PORT=4000\nHOST="::1" # loopback\n';
const SETTINGS = { PORT: '4000', HOST: '::1' };

let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-env-'));
  file = join(folder, '.env');
});

afterAll(() => rm(folder, { recursive: true }));

describe('readEnvFile', () => {
  it.each([
    ['as it is', LINES],
    ['with a byte order mark', `\ufeff${LINES}`],
    ['with the line ends of Windows', LINES.replaceAll('\n', '\r\n')],
    ['without an end of the last line', LINES.trimEnd()],
  ])('reads a file %s', async (_how, text) => {
    await writeFile(file, text);
    expect(readEnvFile(file)).toEqual(SETTINGS);
  });

  it('finds nothing where no file is', () => {
    expect(readEnvFile(join(folder, 'none'))).toEqual({});
  });

  it.each([
    ['UTF-16', Buffer.from(`\ufeff${LINES}`, 'utf16le')],
    ['UTF-16 without a mark', Buffer.from(LINES, 'utf16le')],
    ['Latin 1', Buffer.from('HOST=é', 'latin1')],
  ])('does not take %s for settings', async (_what, bytes) => {
    await writeFile(file, bytes);
    expect(() => readEnvFile(file)).toThrow(`${file} is not UTF-8`);
  });

  it('says why a file can not be read', () => {
    expect(() => readEnvFile(folder)).toThrow(`${folder} can't be read: EISDIR`);
  });
});
