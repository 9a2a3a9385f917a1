import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Progress } from './progress.js';

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
  const progress = new Progress(0, async (message) => {
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

it.each([
  [
    'how much is left, where the length is known',
    2_000_000,
    /50% \| 100 records, 100\/s \| \S+ left/,
  ],
  ['how much has come, where it is not', 0, /1 MB \| 100 records, 100\/s \| \ds/],
])('shows on a terminal %s', (_what, totalBytes, shown) => {
  process.stderr.isTTY = true;
  let text = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((piece) => {
    text += String(piece);
    return true;
  });
  const progress = new Progress(totalBytes, async () => undefined);
  progress.update(1_000_000, 100);
  jest.advanceTimersByTime(1_500);
  progress.stop();
  expect(text).toMatch(shown);
});
