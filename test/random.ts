import { randomNumbers } from '../bench/workloads.js';

/** The seed of this run, which a random test prints: `SEED=… npm run -s jest -- test/property` takes it again. */
export const SEED = Number(process.env['SEED'] || Date.now() % 1_000_000);

/** A repeatable source of chance, so that a run can be told by its seed. */
export class Random {
  /** From 0 to below 1. */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = randomNumbers(seed);
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('Nothing to pick from');
    return from[this.below(from.length)] as T;
  }
}
