import { timeout } from './read-errors.js';

/** A request is answered so long after its arrival at the latest, however long it has waited for its turn. Milliseconds. */
const ANSWER_WITHIN_MS = 1_900;

/**
 * Does the work of a request in the time that it has left.
 * @param startedAt when the request came, in monotonic milliseconds
 * @throws Problem `database_timeout`, besides what the work throws
 */
export async function inTime<T>(startedAt: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    const leftMs = startedAt + ANSWER_WITHIN_MS - performance.now();
    timer = setTimeout(() => reject(timeout()), leftMs);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
