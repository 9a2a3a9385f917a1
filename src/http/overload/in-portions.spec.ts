import { expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { InPortions } from './in-portions.js';

const TASKS = Array.from({ length: 10 }, (_, index) => index);

function block(ms: number): void {
  const since = performance.now();
  while (performance.now() - since < ms);
}

it('lets others have their turn between portions, and does all in order', async () => {
  const done: number[] = [];
  const portions = new InPortions<number>((task) => {
    // As long as a portion may take.
    block(1);
    done.push(task);
  });
  for (const task of TASKS) portions.add(task);
  expect(done).toEqual([]);
  const after: number[] = [];
  while (done.length < TASKS.length) {
    await nextTurn();
    after.push(done.length);
  }
  expect(after.length).toBeGreaterThanOrEqual(TASKS.length);
  expect(done).toEqual(TASKS);
});

it('goes on with what comes meanwhile, or after all was done', async () => {
  const done: string[] = [];
  const portions: InPortions<string> = new InPortions((task) => {
    done.push(task);
    if (task === 'first') portions.add('meanwhile');
  });
  portions.add('first');
  while (done.length < 2) await nextTurn();
  portions.add('later');
  while (done.length < 3) await nextTurn();
  expect(done).toEqual(['first', 'meanwhile', 'later']);
});
