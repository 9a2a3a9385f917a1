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

it('the first signal asks a command to end, the second ends it', () => {
  const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const signal = stopSignal();
  process.emit('SIGINT', 'SIGINT');
  expect(signal.reason).toMatchObject({ message: 'stopped by SIGINT' });
  expect(exit).not.toHaveBeenCalled();
  process.emit('SIGTERM', 'SIGTERM');
  expect(exit.mock.calls).toEqual([[1]]);
});

it('a command that does not end is ended 5 s after the signal, and says so', () => {
  const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
  const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  stopSignal();
  process.emit('SIGTERM', 'SIGTERM');
  jest.advanceTimersByTime(4_999);
  expect(exit).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  const [[said]] = write.mock.calls as [[string]];
  expect(said).toBe(
    'error: stopped by SIGTERM\nThe command may have done its work: look, and run it again.\n',
  );
  expect(exit.mock.calls).toEqual([[1]]);
});
