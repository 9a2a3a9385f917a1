import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { HTTP_LIMITS } from '../http-limits.js';
import type { RequestListener } from '../api-request.js';
import { Admission } from './admission.js';

type Request = Parameters<RequestListener>[0];
type Response = Parameters<RequestListener>[1];

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/** One place, which is taken by who is never answered. */
function full() {
  const [serve, refuse] = [jest.fn<RequestListener>(), jest.fn<RequestListener>()];
  const admission = new Admission({ ...HTTP_LIMITS, inFlight: 1 }, serve, refuse);
  const ask = (writable = true) => {
    const response = { once: () => response } as unknown as Response;
    admission.admit({ startedAt: performance.now(), socket: { writable } } as Request, response);
    return response;
  };
  const first = ask();
  return { admission, ask, first, refuse, serve };
}

it('refuses who has waited too long, each time that there is too much to do', () => {
  const { ask, refuse } = full();
  for (const refused of [1, 2]) {
    ask();
    jest.advanceTimersByTime(HTTP_LIMITS.longestWaitMs - 1);
    expect(refuse).toHaveBeenCalledTimes(refused - 1);
    jest.advanceTimersByTime(2);
    expect(refuse).toHaveBeenCalledTimes(refused);
  }
});

it('refuses everybody in time who waits, though nobody comes any more', () => {
  const { ask, refuse } = full();
  for (let count = 0; count < 3; count += 1) {
    ask();
    jest.advanceTimersByTime(100);
  }
  jest.advanceTimersByTime(HTTP_LIMITS.longestWaitMs - 250);
  expect(refuse).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(300);
  expect(refuse).toHaveBeenCalledTimes(3);
});

it('refuses those who are late already in turns, by no timer in the past', () => {
  const { ask, refuse } = full();
  const timers = jest.spyOn(globalThis, 'setTimeout');
  const now = jest.spyOn(performance, 'now');
  for (let count = 0; count < HTTP_LIMITS.queueMin + 1; count += 1) ask();
  // The process stood still until then.
  now.mockReturnValue(2 * HTTP_LIMITS.longestWaitMs);
  jest.advanceTimersByTime(HTTP_LIMITS.longestWaitMs);
  expect(refuse).toHaveBeenCalledTimes(HTTP_LIMITS.queueMin);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([HTTP_LIMITS.longestWaitMs, 0]);
  now.mockRestore();
});

it('begins nothing for who has left while he waited, but the next one', () => {
  const { admission, ask, first, serve } = full();
  ask(false);
  const waiting = ask();
  admission.release(first);
  jest.advanceTimersByTime(100);
  expect(serve.mock.calls.map(([, response]) => response)).toEqual([first, waiting]);
});

it('begins nothing that comes later before what waits', () => {
  const { admission, ask, first, serve } = full();
  const waiting = ask();
  admission.release(first);
  ask();
  jest.advanceTimersByTime(100);
  expect(serve.mock.calls.map(([, response]) => response)).toEqual([first, waiting]);
});

it('lets as many wait as are served in time at the rate of the moment', () => {
  const { admission, ask, refuse, serve } = full();
  for (let count = 0; count < 300; count += 1) ask();
  for (let ms = 0; ms < 400; ms += 2) {
    const [, underWay] = serve.mock.calls.at(-1) ?? [];
    if (underWay) admission.release(underWay);
    jest.advanceTimersByTime(2);
  }
  // Some 200 were served in 0.4 s.
  ask();
  expect(refuse).not.toHaveBeenCalled();
});
