import { expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TimeSlices } from './time-slices.js';

it('waits a turn while clients connect, of whom the event loop takes one a turn', async () => {
  const work = jest.fn(() => false);
  const slices = new TimeSlices(work);
  // A pause of the machine would end the wait.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
  slices.request();
  slices.connected();
  await nextTurn();
  expect(work).not.toHaveBeenCalled();
  await nextTurn();
  expect(work).toHaveBeenCalled();
  clock.mockRestore();
});

it('does not wait long, however many connect', async () => {
  const work = jest.fn(() => false);
  const slices = new TimeSlices(work);
  const began = performance.now();
  slices.request();
  while (work.mock.calls.length === 0) {
    slices.connected();
    await nextTurn();
  }
  expect(performance.now() - began).toBeLessThan(500);
});
