import type { Collection } from 'mongodb';
import { marketOf } from './bench-markets.js';

const BATCH = 2_000;
const BATCHES_AT_A_TIME = 4;
const TELL_EVERY_MS = 10_000;

/** Inserts so many markets. The memory it takes does not grow with their number. */
export async function seed(
  collection: Collection<ReturnType<typeof marketOf>>,
  markets: number,
  progress: (inserted: number) => void,
): Promise<void> {
  let next = 0;
  let toldAt = performance.now();
  const insertBatches = async () => {
    while (next < markets) {
      const start = next;
      next = Math.min(markets, start + BATCH);
      const batch = Array.from({ length: next - start }, (_, index) => marketOf(start + index));
      await collection.insertMany(batch, { ordered: false });
      if (performance.now() - toldAt < TELL_EVERY_MS) continue;
      toldAt = performance.now();
      progress(start);
    }
  };
  await Promise.all(Array.from({ length: BATCHES_AT_A_TIME }, insertBatches));
}
