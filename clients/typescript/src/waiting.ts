import { onAbort } from './on-abort.js';
import { ConnectionLost, MarketsProblem } from './problem.js';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/** A timer that is set for longer goes off at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How long to wait before the next try: what the service asks, else ever longer; with jitter, against herds. */
export function waitMs(failure: unknown, attempt: number): number {
  const asked = failure instanceof MarketsProblem ? failure.retryAfterMs : undefined;
  const ms = asked ?? Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS);
  return ms + Math.random() * Math.max(FIRST_WAIT_MS, ms / 4);
}

/** Whether it is worth another try. */
export function isPassing(failure: unknown): boolean {
  return (
    failure instanceof ConnectionLost || (failure instanceof MarketsProblem && failure.isPassing)
  );
}

/** @throws the signal's reason */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const wake = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const goOn = () => {
      leave?.();
      resolve();
    };
    const timer = setTimeout(goOn, Math.min(ms, LONGEST_TIMER_MS));
    const leave = signal && onAbort(signal, wake);
  });
}
