import { expect } from '@jest/globals';
import type { Tally } from './tally.js';

export function expectCoherence(tally: Tally): void {
  expect(tally.wrong).toEqual([]);
  expect(tally.reads).toBeGreaterThanOrEqual(200);
  expect(tally.writes).toBeGreaterThan(100);
}
