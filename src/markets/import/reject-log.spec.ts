import { expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKey } from '../../api-keys/key-form.js';
import type { ImportProgress } from './import-progress.js';
import { RejectLog } from './reject-log.js';

it('keeps no key in its file, not even where MongoDB repeats one in its reason', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'markets-rejects-'));
  const path = join(folder, 'rejects.ndjson');
  try {
    const log = new RejectLog(path, { say: async () => undefined } as unknown as ImportProgress);
    log.open();
    const reason = `MongoDB refuses it: E11000 dup key: { name: "${generateKey()}" }`;
    await log.add({ file: 'f', line: 1 }, [{ field: '', reason }]);
    await log.close();
    expect(await readFile(path, 'utf8')).toContain('name: \\"mos_[redacted]\\"');
  } finally {
    await rm(folder, { recursive: true });
  }
});
