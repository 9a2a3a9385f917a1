import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { within } from './within.js';

const tooLate = () => new Error('too late');

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
});

afterEach(() => {
  jest.useRealTimers();
});

it('leaves no timer behind, whatever comes of the work', async () => {
  expect(await within(1_000, Promise.resolve(7), tooLate)).toBe(7);
  await expect(within(1_000, Promise.reject(new Error('failed')), tooLate)).rejects.toThrow(
    'failed',
  );
  expect(jest.getTimerCount()).toBe(0);
});

it('waits no longer than it may', async () => {
  setImmediate(() => jest.advanceTimersByTime(1_000));
  await expect(within(1_000, new Promise(() => undefined), tooLate)).rejects.toThrow('too late');
});

it('sets no timer in the past, of which newer versions of Node warn', async () => {
  const timers = jest.spyOn(globalThis, 'setTimeout');
  setImmediate(() => jest.advanceTimersByTime(1));
  await expect(within(-1, new Promise(() => undefined), tooLate)).rejects.toThrow('too late');
  expect(timers).toHaveBeenCalledWith(expect.anything(), 0);
});
