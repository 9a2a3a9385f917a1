import { afterEach, expect, it, jest } from '@jest/globals';
import { LoadCandidates } from './load-candidates.js';

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('forgets a scope that was not asked for in the last minute', () => {
  // The LRU reads the clock at most once in a millisecond of the timers.
  jest.useFakeTimers({ doNotFake: ['performance'] });
  const now = jest.spyOn(performance, 'now').mockReturnValue(1);
  const later = (ms: number) => {
    now.mockReturnValue(performance.now() + ms);
    jest.advanceTimersByTime(ms);
  };
  const candidates = new LoadCandidates(1);
  const askThrice = (key: string) => [1, 2, 3].map(() => candidates.ask(key));

  candidates.ask('eventId:a');
  candidates.leaveToMongodb('eventId:unfit');
  later(59_000);
  expect(askThrice('eventId:a')).toEqual([false, true, true]);
  expect(askThrice('eventId:unfit')).toEqual([false, false, false]);
  later(61_000);
  for (const key of ['eventId:a', 'eventId:unfit'])
    expect(askThrice(key)).toEqual([false, false, true]);
});
