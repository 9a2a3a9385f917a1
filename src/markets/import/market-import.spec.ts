import { expect, it, jest } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { aRecord, ndjson } from '../../../test/imports.js';
import { MarketImport } from './market-import.js';
import type { BatchTally } from './market-writer.js';
import { ImportProgress } from './import-progress.js';
import { RejectLog } from './reject-log.js';

const line = ndjson(aRecord());
const written = { counts: { inserted: 1, updated: 0, unchanged: 0 }, refused: [] };

/** Imports one record. */
async function importOne(
  write: () => Promise<object>,
  say: (message: string) => Promise<void> = async () => undefined,
  text = line,
) {
  const folder = await mkdtemp(join(tmpdir(), 'markets-import-'));
  const file = join(folder, 'markets.ndjson');
  const progress = new ImportProgress(0, say);
  const shown = jest.spyOn(progress, 'update');
  try {
    await writeFile(file, text);
    const rejects = new RejectLog(undefined, progress);
    const { signal } = new AbortController();
    const tally = write as () => Promise<BatchTally>;
    await new MarketImport(tally, rejects, progress, signal, false).run([file]);
    return shown.mock.calls;
  } finally {
    progress.stop();
    await rm(folder, { recursive: true });
  }
}

it('shows how many bytes and records of its files are done', async () => {
  expect(await importOne(async () => written)).toEqual([[Buffer.byteLength(line), 1]]);
});

it('shows that it goes on while all is rejected', async () => {
  const shown = await importOne(async () => written, undefined, '{}\n{}\n');
  expect(shown).toEqual([
    [6, 1],
    [6, 2],
  ]);
});

it('says so when MongoDB leaves a write without an answer, as while a majority lags', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const said: string[] = [];
  try {
    await importOne(
      async () => {
        jest.advanceTimersByTime(9_000);
        return written;
      },
      async (message) => void said.push(message),
    );
  } finally {
    jest.useRealTimers();
  }
  expect(said).toEqual([expect.stringMatching(/^Waiting for MongoDB, which .* majority/)]);
});

it('goes on only when all that MongoDB has refused is told', async () => {
  const told: string[] = [];
  const refused = [{ entry: { file: 'f', line: 1 }, reason: 'not that' }];
  await importOne(
    async () => ({ ...written, refused }),
    async (message) => {
      await delay(50);
      told.push(message);
    },
  );
  expect(told).toEqual(['f:1: not that']);
});
