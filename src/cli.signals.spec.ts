import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { stopSignal } from './cli.signals.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

let before: Map<NodeJS.Signals, unknown[]>;

beforeEach(() => {
  before = new Map(SIGNALS.map((name) => [name, process.listeners(name)]));
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  for (const name of SIGNALS) {
    for (const listener of process.listeners(name)) {
      if (!before.get(name)?.includes(listener)) process.removeListener(name, listener);
    }
  }
});

it('the first signal asks a command to end, the second ends it, as does time', () => {
  const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const signal = stopSignal();
  process.emit('SIGINT', 'SIGINT');
  expect(signal.reason).toMatchObject({ message: 'stopped by SIGINT' });
  jest.advanceTimersByTime(5_000);
  expect(exit).not.toHaveBeenCalled();
  process.emit('SIGTERM', 'SIGTERM');
  expect(exit.mock.calls).toEqual([[1]]);
  jest.advanceTimersByTime(5_000);
  expect(exit.mock.calls).toEqual([[1], [1]]);
});
