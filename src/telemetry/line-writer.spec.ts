import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LineWriter } from './line-writer.js';

/** More than a pipe holds. */
const MANY = 5_000;
const line = (index: number) => `${JSON.stringify({ index, pad: 'é'.repeat(50) })}\n`;

let folder: string;
let reader: number;
let writer: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'markets-odds-log-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
});

afterEach(() => {
  closeSync(writer);
  rmSync(folder, { recursive: true });
});

/** Reads until nothing comes for a while. */
async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for (let idle = 0; idle < 10;) {
    const buffer = Buffer.alloc(65_536);
    try {
      chunks.push(buffer.subarray(0, readSync(reader, buffer)));
      idle = 0;
    } catch {
      idle += 1;
      await delay(5);
    }
  }
  return Buffer.concat(chunks).toString();
}

it('keeps every line, in order and whole, for a reader that comes late', async () => {
  const log = new LineWriter(writer);
  const lines = Array.from({ length: MANY }, (_, index) => line(index));
  for (const each of lines) log.write(each);
  expect(await readAll()).toBe(lines.join(''));
  log.write('and on\n');
  expect(await readAll()).toBe('and on\n');
});

it('does not hold up the event loop, nor for long the end, when nobody reads', async () => {
  const log = new LineWriter(writer);
  for (let index = 0; index < MANY; index += 1) log.write(line(index));
  const began = performance.now();
  await delay(50);
  expect(performance.now() - began).toBeLessThan(500);
  log.flushSync();
  expect(performance.now() - began).toBeLessThan(2_000);
});

it('goes on when the reader is gone', async () => {
  const log = new LineWriter(writer);
  closeSync(reader);
  log.write('nobody\n');
  await delay(20);
  expect(() => {
    log.write('still nobody\n');
    log.flushSync();
  }).not.toThrow();
});

it('begins a new line when one was cut', async () => {
  const log = new LineWriter(writer);
  for (let index = 0; index < MANY; index += 1) log.write(line(index));
  log.flushSync();
  closeSync(reader);
  log.flushSync();
  reader = openSync(join(folder, 'pipe'), constants.O_RDONLY | constants.O_NONBLOCK);
  log.write('and on\n');
  expect(await readAll()).toMatch(/\nand on\n$/);
});

it('says how many lines were lost once somebody reads again', async () => {
  const formatted: string[] = [];
  const log = new LineWriter(writer, (given) => {
    formatted.push(given);
    return given;
  });
  const big = `${'x'.repeat(1024 * 1024 - 1)}\n`;
  for (let count = 0; count < 12; count += 1) log.write(big);
  const text = await readAll();
  expect(text.split(big)).toHaveLength(10);
  expect(JSON.parse(text.split(big).at(-1) ?? '')).toEqual({
    level: 'warn',
    time: expect.any(String),
    msg: '3 lines of the log were lost: nobody read them',
  });
  expect(formatted.at(-1)).toContain('3 lines of the log were lost');
});
