import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { tellIfSlow } from './tell-if-slow.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

const say = jest.fn(async () => undefined);
const refused = () => Promise.reject(new Error('refused'));

it('says after 5 s that a write is not acknowledged, and gives its result all the same', async () => {
  const write = new Promise((resolve) => setTimeout(resolve, 6_000, 'done'));
  const result = tellIfSlow(() => write, say);
  jest.advanceTimersByTime(4_999);
  expect(say).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(say.mock.calls).toEqual([[expect.stringContaining('not acknowledged a write for 5 s')]]);
  jest.advanceTimersByTime(1_000);
  expect(await result).toBe('done');
});

it('says nothing of a write that is done or has failed', async () => {
  expect(await tellIfSlow(async () => 'done', say)).toBe('done');
  await expect(tellIfSlow(refused, say)).rejects.toThrow('refused');
  expect(jest.getTimerCount()).toBe(0);
});
