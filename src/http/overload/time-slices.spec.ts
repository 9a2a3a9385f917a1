import { expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TimeSlices } from './time-slices.js';

it('waits a turn while clients connect, of whom the event loop takes one a turn', async () => {
  const work = jest.fn(() => false);
  const slices = new TimeSlices(work);
  // A pause of the machine would end the wait.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
  slices.schedule();
  slices.connected();
  expect(slices.hasTime(0)).toBe(false);
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
  slices.schedule();
  while (work.mock.calls.length === 0) {
    slices.connected();
    await nextTurn();
  }
  expect(performance.now() - began).toBeLessThan(500);
});

it('lasts 60 ms at most, since probes wait for its end, however long the sockets took', async () => {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
  const slices = new TimeSlices(() => false);
  slices.schedule();
  clock.mockReturnValue(1_000);
  await nextTurn();
  clock.mockRestore();
  expect([1_059, 1_061].map((now) => slices.hasTime(now))).toEqual([true, false]);
});

it('counts the time that work takes after it has begun, too', async () => {
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  const work = jest.fn(() => {
    queueMicrotask(() => (now += 3));
    return work.mock.calls.length < 100;
  });
  new TimeSlices(work).schedule();
  await nextTurn();
  clock.mockRestore();
  expect(work).toHaveBeenCalledTimes(2);
});
