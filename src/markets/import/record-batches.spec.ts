import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { RecordBatches, type ImportEntry } from './record-batches.js';

const MIB = 1024 * 1024;

function anEntry(bytes: number): ImportEntry {
  return { file: 'a', line: 1, bytes, record: {} as ImportEntry['record'] };
}

/** How many records each batch had. */
async function batchesOf(entries: readonly ImportEntry[]): Promise<number[]> {
  const batches: number[] = [];
  const write = async (batch: readonly ImportEntry[]) => {
    batches.push(batch.length);
  };
  const writer = new RecordBatches(write, false);
  for (const entry of entries) await writer.add(entry);
  await writer.flush();
  return batches;
}

it.each([
  ['many', 2_500, 100, [1_000, 1_000, 500]],
  ['large', 10, MIB, [4, 4, 2]],
])('writes a batch before its records are too %s', async (_what, count, bytes, batches) => {
  const entries = Array.from({ length: count }, () => anEntry(bytes));
  expect(await batchesOf(entries)).toEqual(batches);
});

it('tells at once that a write has failed, for nobody may ask for another', async () => {
  const reason = new Error('MongoDB refuses');
  const writer = new RecordBatches(() => Promise.reject(reason), true);
  await writer.add(anEntry(1));
  await once(writer.failed, 'abort');
  expect(writer.failed.reason).toBe(reason);
});
