import { MarketsProblem } from './problem.js';

interface HedgeOptions {
  /** A new try begins so often. */
  readonly everyMs: number;
  /** A try is given up after so long. */
  readonly eachMs: number;
  readonly signal: AbortSignal;
}

/**
 * Tries again and again while earlier tries go on: a first packet lost on the way holds up its own try alone. The
 * first answer wins, a refusal too; the other tries are aborted. `too_many_streams` ends its own try alone: another may
 * have the stream.
 * @throws the failure of the last try when none is left, or the signal's reason
 */
export function hedge<T>(
  start: (signal: AbortSignal) => Promise<T>,
  { everyMs, eachMs, signal }: HedgeOptions,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const tries = new Set<AbortController>();
    const settle = (won?: AbortController) => {
      clearInterval(timer);
      signal.removeEventListener('abort', abort);
      for (const each of tries) if (each !== won) each.abort();
      // How the other tries end no longer matters.
      tries.clear();
    };
    const fail = (failure: unknown) => {
      settle();
      reject(failure);
    };
    const abort = () => fail(signal.reason);
    const next = () => {
      const controller = new AbortController();
      tries.add(controller);
      const limit = setTimeout(() => controller.abort(), eachMs);
      start(AbortSignal.any([signal, controller.signal]))
        .then(
          (value) => {
            settle(controller);
            resolve(value);
          },
          (failure: unknown) => {
            tries.delete(controller);
            const decides =
              failure instanceof MarketsProblem && failure.code !== 'too_many_streams';
            if (decides || tries.size === 0) fail(failure);
          },
        )
        .finally(() => clearTimeout(limit));
    };
    const timer = setInterval(next, everyMs);
    if (signal.aborted) abort();
    else {
      signal.addEventListener('abort', abort, { once: true });
      next();
    }
  });
}
