interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly wake: () => void;
}

const waitingFor = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls back when a signal is aborted. Each signal has one listener, however many wait for it: Node warns of a leak
 * above ten, and on Node 20 each `AbortSignal.any()` stays with its signals for as long as they live.
 * @returns what ends the wait
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, wake } = waitingFor.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    signal.removeEventListener('abort', wake);
    waitingFor.delete(signal);
  };
}

function listen(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const wake = () => {
    for (const callback of callbacks) callback();
  };
  signal.addEventListener('abort', wake, { once: true });
  waitingFor.set(signal, { callbacks, wake });
  return { callbacks, wake };
}
