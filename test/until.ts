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
