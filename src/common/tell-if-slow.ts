/** So long after a write began, its user is told that it waits for a majority of the members. Milliseconds. */
const SLOW_AFTER_MS = 5_000;
const SLOW = `Waiting for MongoDB, which has not acknowledged a write for ${SLOW_AFTER_MS / 1_000} s: does a majority of its members lag?`;

/** The result of a write; while it is slow, a message says so. */
export async function tellIfSlow<T>(
  write: () => Promise<T>,
  say: (message: string) => Promise<void>,
): Promise<T> {
  const slow = setTimeout(() => void say(SLOW), SLOW_AFTER_MS);
  return write().finally(() => clearTimeout(slow));
}
