import { setTimeout as delay } from 'node:timers/promises';

/** Resolves when the condition holds; asks every few milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(5);
}
