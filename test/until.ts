import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves when the condition holds; asks every few milliseconds.
 * @param withinMs longest wait, in milliseconds
 * @throws Error that shows the condition
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  withinMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) {
      throw new Error(`Not within ${withinMs} ms: ${holds.toString()}`);
    }
    await delay(5);
  }
}

/** An answer; asked for again where MongoDB was too late with it (504) or with the key (503), on a busy machine. */
export async function inTime<T extends { readonly status: number }>(
  ask: () => PromiseLike<T>,
): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 504 && !isKeyLate(answer)) return answer;
  }
}

function isKeyLate(answer: object): boolean {
  const { body } = answer as { readonly body?: { readonly detail?: string } };
  return body?.detail === 'The key cannot be checked now. Please try again.';
}
