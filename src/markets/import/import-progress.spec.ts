import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ImportProgress } from './import-progress.js';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';

const { isTTY } = process.stderr;

beforeEach(() => {
  jest.useFakeTimers();
  process.stderr.isTTY = false;
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  process.stderr.isTTY = isTTY;
});

it('tells now and then how many records of a second were read, and nothing while none are', () => {
  const said: string[] = [];
  const progress = new ImportProgress(0, async (message) => {
    said.push(message);
  });
  progress.update(3_000_000, 1_000);
  jest.advanceTimersByTime(10_000);
  progress.update(4_000_000, 1_500);
  jest.advanceTimersByTime(20_000);
  progress.stop();
  expect(said).toEqual([
    '1000 records (3 MB) read, 100 a second',
    '1500 records (4 MB) read, 50 a second',
  ]);
});

function onTerminal(): { text: string } {
  process.stderr.isTTY = true;
  const written = { text: '' };
  jest.spyOn(process.stderr, 'write').mockImplementation((piece) => {
    written.text += String(piece);
    return true;
  });
  return written;
}

it.each([
  [
    'how much is left, where the length is known',
    2_000_000,
    /50% \| 100 records, 100\/s \| \S+ left/,
  ],
  ['how much has come, where it is not', 0, /1 MB \| 100 records, 100\/s \| \ds/],
])('shows on a terminal %s', (_what, totalBytes, shown) => {
  const written = onTerminal();
  const progress = new ImportProgress(totalBytes, async () => undefined);
  progress.update(1_000_000, 100);
  jest.advanceTimersByTime(1_500);
  progress.stop();
  expect(written.text).toMatch(shown);
});

it('shows on a terminal how many records were read in the last second, not in all', () => {
  const written = onTerminal();
  const progress = new ImportProgress(0, async () => undefined);
  progress.update(1_000_000, 100);
  jest.advanceTimersByTime(1_500);
  progress.update(2_000_000, 150);
  jest.advanceTimersByTime(1_000);
  progress.stop();
  expect(written.text).toMatch(/150 records, 50\/s/);
});

it('leaves no bar on a terminal that the report would run into', () => {
  const written = onTerminal();
  const progress = new ImportProgress(2_000_000, async () => undefined);
  progress.update(1_000_000, 100);
  progress.stop();
  expect(written.text).toContain(SHOW_CURSOR);
});

it('gives a terminal its cursor back where the process ends at once', () => {
  const written = onTerminal();
  const progress = new ImportProgress(0, async () => undefined);
  progress.update(1_000_000, 100);
  expect(written.text).toContain(HIDE_CURSOR);
  expect(written.text).not.toContain(SHOW_CURSOR);
  process.emit('exit', 1);
  expect(written.text).toContain(SHOW_CURSOR);
  progress.stop();
});

it('says nothing after the end: the report is the last word', async () => {
  const said: string[] = [];
  const progress = new ImportProgress(0, async (message) => void said.push(message));
  progress.stop();
  await progress.say('Waiting for MongoDB');
  expect(said).toEqual([]);
});

it('clears the bar for a message, which would run into it', async () => {
  process.stderr.isTTY = true;
  const written: string[] = [];
  jest
    .spyOn(process.stderr, 'write')
    .mockImplementation((piece) => written.push(String(piece)) > 0);
  const progress = new ImportProgress(2_000_000, async (message) => void written.push(message));
  await progress.say('a reject');
  progress.stop();
  expect(written.slice(0, written.indexOf('a reject') + 1).slice(-2)).toEqual([
    '\r\u001b[K',
    'a reject',
  ]);
});
