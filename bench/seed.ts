import type { Collection } from 'mongodb';
import { marketOf } from './bench-markets.js';

const BATCH = 2_000;
const BATCHES_AT_A_TIME = 4;

/** Inserts the markets from one number up to another. Memory does not grow with their count. */
export async function seed(
  collection: Collection<ReturnType<typeof marketOf>>,
  from: number,
  to: number,
  progress: (inserted: number) => void,
): Promise<void> {
  let next = from;
  let inserted = from;
  const insertBatches = async () => {
    while (next < to) {
      const start = next;
      next = Math.min(to, start + BATCH);
      const batch = Array.from({ length: next - start }, (_, index) => marketOf(start + index));
      await collection.insertMany(batch, { ordered: false });
      inserted += batch.length;
      progress(inserted);
    }
  };
  await Promise.all(Array.from({ length: BATCHES_AT_A_TIME }, insertBatches));
}
