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
    expect(readEnvFile(file)).toEqual({ variables: SETTINGS, faults: [] });
  });

  it.each([
    ['export  A=1', '1'],
    ['A="1', '"1'],
  ])('does not drop %s', async (text, value) => {
    await writeFile(file, text);
    expect(readEnvFile(file)).toEqual({ variables: { A: value }, faults: [] });
  });

  it('finds nothing where no file is', () => {
    expect(readEnvFile(join(folder, 'none'))).toEqual({ variables: {}, faults: [] });
  });

  it.each([
    ['UTF-16', Buffer.from(`\ufeff${LINES}`, 'utf16le')],
    ['UTF-16 without a mark', Buffer.from(LINES, 'utf16le')],
    ['Latin 1', Buffer.from('HOST=é', 'latin1')],
  ])('does not take %s for settings', async (_what, bytes) => {
    await writeFile(file, bytes);
    expect(readEnvFile(file)).toEqual({ variables: {}, faults: [`${file} is not UTF-8`] });
  });

  it('takes spaces and tabs before a name, export, values of several lines and names of others', async () => {
    await writeFile(
      file,
      "# it's = mine\n\n  export A=1\nb.c-d = '2\n=3' # two lines\n\t\n \tE=it's\nF=",
    );
    expect(readEnvFile(file)).toEqual({
      variables: { A: '1', 'b.c-d': '2\n=3', E: "it's", F: '' },
      faults: [],
    });
  });

  it('takes no tab behind a value for a part of it', async () => {
    await writeFile(file, "A=1\t# one\nB=2\t\r\nC='\t#\t'\t\t # tabs\nD=x\ty \t");
    expect(readEnvFile(file)).toEqual({
      variables: { A: '1', B: '2', C: '\t#\t', D: 'x\ty' },
      faults: [],
    });
  });

  it.each([
    ['without =', 'PORT\nHOST="::1"\n', 1],
    ['with : in place of =', `${LINES}LOG_LEVEL: debug`, 3],
    ['without a name', `A='1\n2'\n=5\r\n${LINES}`, 3],
    ['with a space in its name', 'LOG LEVEL=debug\n', 1],
    ['with a tab in its name', '# a\nLOG\t=debug\n', 2],
  ])('refuses a line %s, by its number', async (_how, text, line) => {
    await writeFile(file, text);
    expect(readEnvFile(file).faults).toEqual([
      `${file} has a line that is not NAME=value: line ${line}`,
    ]);
  });

  it('tells each line that it refuses, and reads the others', async () => {
    await writeFile(file, `PORT\n${LINES}\nLOG LEVEL=debug\n`);
    const faults = [1, 5].map((line) => `${file} has a line that is not NAME=value: line ${line}`);
    expect(readEnvFile(file)).toEqual({ variables: SETTINGS, faults });
  });

  it('says why a file can not be read', () => {
    expect(readEnvFile(folder).faults).toEqual([`${folder} can't be read: EISDIR`]);
  });
});
