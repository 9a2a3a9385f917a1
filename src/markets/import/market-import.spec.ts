import { expect, it, jest } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aRecord, ndjson } from '../../../test/imports.js';
import { MarketImport } from './market-import.js';
import type { MarketWriter } from './market-writer.js';
import { ImportProgress } from './import-progress.js';
import { RejectLog } from './reject-log.js';

it('shows how many bytes and records of its files are done', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'markets-import-'));
  const file = join(folder, 'markets.ndjson');
  const progress = new ImportProgress(0, async () => undefined);
  const shown = jest.spyOn(progress, 'update');
  const counts = { inserted: 1, updated: 0, unchanged: 0 };
  const writer = { write: async () => ({ counts, refused: [] }) } as unknown as MarketWriter;
  const line = ndjson(aRecord());
  try {
    await writeFile(file, line);
    const rejects = new RejectLog(undefined, progress);
    const { signal } = new AbortController();
    await new MarketImport(writer, rejects, progress, signal, false).run([file]);
    expect(shown.mock.calls).toEqual([[Buffer.byteLength(line), 1]]);
  } finally {
    progress.stop();
    await rm(folder, { recursive: true });
  }
});
