import { expect } from '@jest/globals';
import { SEED } from '../random.js';
import type { Tally } from './tally.js';

export function expectCoherence(tally: Tally): void {
  expect({ SEED, wrong: tally.wrong }).toEqual({ SEED, wrong: [] });
  expect(tally.reads).toBeGreaterThanOrEqual(200);
  expect(tally.writes).toBeGreaterThan(100);
}
