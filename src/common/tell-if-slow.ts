/** So long after it began, work for which MongoDB is needed counts as slow. Milliseconds. */
const SLOW_AFTER_MS = 5_000;
const SECONDS = SLOW_AFTER_MS / 1_000;

const SLOW_WRITE = `Waiting for MongoDB, which has not acknowledged a write for ${SECONDS} s: does a majority of its members lag?`;
export const SLOW_CONNECTION = `MongoDB can't be reached: nothing was heard for ${SECONDS} s. Does the name service answer for MONGODB_URI?`;
export const SLOW_INIT = `Making collections and indexes has taken ${SECONDS} s so far: there may be much to read, or a member of the set is away.`;

/** The result of work; while it is slow, a message says so. */
export async function tellIfSlow<T>(
  work: () => Promise<T>,
  say: (message: string) => unknown,
  message = SLOW_WRITE,
): Promise<T> {
  const slow = setTimeout(() => void say(message), SLOW_AFTER_MS);
  return work().finally(() => clearTimeout(slow));
}
