import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { collectGarbage } from '../../../test/collect-garbage.js';
import { parseRecord, readRecords } from './record-reader.js';
import { Gatherer, InputFault, DOCUMENT_BYTES_MAX } from './raw-record.js';

interface Reading {
  /** `line: text` of each record. */
  readonly records: string[];
  readonly fault?: string;
}

async function* chunksOf(input: Buffer, size: number) {
  for (let start = 0; start < input.length; start += size) {
    yield input.subarray(start, start + size);
  }
}

async function read(input: string | Buffer, chunkSize = 1024): Promise<Reading> {
  const records: string[] = [];
  try {
    for await (const { line, bytes } of readRecords(chunksOf(Buffer.from(input), chunkSize))) {
      records.push(`${line}: ${bytes?.toString().trim() ?? 'too long'}`);
    }
    return { records };
  } catch (error) {
    if (error instanceof InputFault) return { records, fault: error.message };
    throw error;
  }
}

describe('readRecords', () => {
  it.each([1, 2, 3, 7, 1024])('tells lines apart in chunks of %d bytes', async (chunkSize) => {
    const input = '\ufeff\r\n{"a":1}\r\n\n  \t\n{"b":"é🏆"}\nnonsense\n{"c":3}';
    const records = ['2: {"a":1}', '5: {"b":"é🏆"}', '6: nonsense', '7: {"c":3}'];
    await expect(read(input, chunkSize)).resolves.toEqual({ records });
  });

  it.each([1, 2, 3, 7, 1024])('tells elements apart in chunks of %d bytes', async (chunkSize) => {
    const input = '\ufeff \n[ {"a":[1,{"]":"}\\",["}]},\n\n{"b":\n"x\\\\"} ,nonsense,"t,]"\n]\n ';
    const records = [
      '2: {"a":[1,{"]":"}\\",["}]}',
      '4: {"b":\n"x\\\\"}',
      '5: nonsense',
      '5: "t,]"',
    ];
    await expect(read(input, chunkSize)).resolves.toEqual({ records });
  });

  it.each(['', ' \n\r\n\t', '\ufeff', '[]', ' [ \n ] '])('finds nothing in %j', async (input) => {
    await expect(read(input)).resolves.toEqual({ records: [] });
    await expect(read(gzipSync(input), 5)).resolves.toEqual({ records: [] });
  });

  it('shows what lacks between commas as an empty record', async () => {
    await expect(read('[1,\n,2,]')).resolves.toEqual({ records: ['1: 1', '2: ', '2: 2', '2: '] });
  });

  it('knows the line of an element that follows a text with a line break in it', async () => {
    const records = ['1: {"a":"x\ny"}', '3: {"b":2}'];
    await expect(read('[{"a":"x\ny"},\n{"b":2}]')).resolves.toEqual({ records });
  });

  it('lets an element with a bracket too many spoil no other', async () => {
    const records = ['1: {"a":1}}', '1: {"b":2}'];
    await expect(read('[{"a":1}},{"b":2}]')).resolves.toEqual({ records });
  });

  it.each(['[', '[{"a":1}', '[{"a":1},', '[{"a":1},{"b":"]', '[{"a":1},{"b":[]'])(
    'says that %j is cut, after the whole elements',
    async (input) => {
      const { records, fault } = await read(input);
      expect(records).toEqual(input.includes('},') ? ['1: {"a":1}'] : []);
      expect(fault).toBe('the array is cut: it does not end with ]');
    },
  );

  it.each([
    ['little', Buffer.from('\ufeff{"a":1}\n{"b":2}', 'utf16le')],
    ['big', Buffer.from('\ufeff{"a":1}\n{"b":2}', 'utf16le').swap16()],
    ['little, without a mark', Buffer.from('{"a":1}\n{"b":2}', 'utf16le')],
    ['big, without a mark', Buffer.from('[1]', 'utf16le').swap16()],
  ])('says once that the input is UTF-16 (%s)', async (_how, input) => {
    const told = { records: [], fault: 'the file is UTF-16; UTF-8 is needed' };
    await expect(read(input, 1)).resolves.toEqual(told);
    await expect(read(gzipSync(input))).resolves.toEqual(told);
  });

  it('lets go of input that it refuses, so that the file is closed', async () => {
    let isLetGo = false;
    async function* utf16() {
      try {
        yield* chunksOf(Buffer.from('\ufeff{"a":1}', 'utf16le'), 4);
      } finally {
        isLetGo = true;
      }
    }
    await expect(readRecords(utf16()).next()).rejects.toThrow('UTF-16');
    await setImmediate();
    expect(isLetGo).toBe(true);
  });

  it('refuses what follows an array', async () => {
    await expect(read('[1]\n[2]')).resolves.toEqual({
      records: ['1: 1'],
      fault: 'something follows the array, on line 2',
    });
  });

  it.each([1, 10, 1024])('unpacks members of gzip in chunks of %d bytes', async (chunkSize) => {
    const input = Buffer.concat([gzipSync('{"a":1}\n{"b"'), gzipSync(':2}\n'), gzipSync('3')]);
    const records = ['1: {"a":1}', '2: {"b":2}', '3: 3'];
    await expect(read(input, chunkSize)).resolves.toEqual({ records });
  });

  it.each([1, 8, 12])('reads what it can of gzip that lacks %d bytes', async (lacking) => {
    const lines = Array.from({ length: 100 }, (_, i) => JSON.stringify({ i, at: Math.sin(i) }));
    const packed = gzipSync(lines.join('\n'));
    const { records, fault } = await read(packed.subarray(0, -lacking), 100);
    expect(records.length).toBeGreaterThan(90);
    expect(records).toEqual(lines.slice(0, records.length).map((line, i) => `${i + 1}: ${line}`));
    expect(fault).toBe('the gzip data is cut or damaged: unexpected end of file');
  });

  it('refuses gzip that something else follows', async () => {
    const { fault } = await read(Buffer.concat([gzipSync('1'), Buffer.from('2')]));
    expect(fault).toMatch(/^the gzip data is cut or damaged/);
  });

  it('reads all of gzip that has come before its input fails', async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `${i + 1}: ${Math.sin(i)}`);
    const packed = gzipSync(lines.map((line) => `${line.split(' ')[1]}\n`).join(''));
    async function* failing() {
      yield* chunksOf(packed, 100);
      throw new InputFault('away');
    }
    const records: string[] = [];
    const reading = (async () => {
      for await (const { line, bytes } of readRecords(failing()))
        records.push(`${line}: ${bytes?.toString()}`);
    })();
    await expect(reading).rejects.toThrow(/^away$/);
    expect(records).toEqual(lines);
  });

  it('tells where in its line a record is broken, in the first line too', async () => {
    const faults: (string | undefined)[] = [];
    for await (const { bytes } of readRecords(
      chunksOf(Buffer.from('\n  {"a" 1}\n  {"a" 1}'), 1024),
    ))
      faults.push(parseRecord(bytes).fault);
    expect(faults).toEqual([expect.stringMatching(/position 7\b/), faults[0]]);
  });

  it('forgets records beyond the limit, and goes on', async () => {
    const long = `"${'x'.repeat(DOCUMENT_BYTES_MAX - 1)}"`;
    const longest = long.replace('x', '');
    const size = 1024 * 1024;
    const lines = await read(`1\n${long}\n${longest}\n2`, size);
    expect(lines.records.map((record) => record.slice(0, 12))).toEqual([
      '1: 1',
      '2: too long',
      '3: "xxxxxxxx',
      '4: 2',
    ]);
    const elements = await read(`[1,\n${long},2]`, size);
    expect(elements.records).toEqual(['1: 1', '2: too long', '2: 2']);
  });
});

describe('parseRecord', () => {
  it('refuses what is not UTF-8, not JSON, or too long', () => {
    expect(parseRecord(Buffer.from('{"a":"é"}'))).toEqual({ value: { a: 'é' } });
    expect(parseRecord(Buffer.from([0x22, 0xe9, 0x22]))).toEqual({ fault: 'is not valid UTF-8' });
    expect(parseRecord(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).fault).toBe(
      'is not valid UTF-8',
    );
    expect(parseRecord(undefined)).toEqual({ fault: 'is longer than 16 MiB' });
    expect(parseRecord(Buffer.from('{"a":\u001b[31m}')).fault).toMatch(
      /^is not valid JSON: [^\p{Cc}]+$/u,
    );
  });
});

it('holds nothing of a record that is too long, however much of it comes', async () => {
  const gatherer = new Gatherer();
  const parts = Array.from({ length: 4 }, () => {
    const part = Buffer.alloc(DOCUMENT_BYTES_MAX / 2);
    gatherer.add(part);
    return new WeakRef(part);
  });
  await setImmediate();
  collectGarbage();
  expect(parts.filter((part) => part.deref())).toHaveLength(0);
  expect(gatherer.take()).toBeUndefined();
});
