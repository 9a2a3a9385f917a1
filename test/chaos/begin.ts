// oxlint-disable-next-line import/no-unassigned-import
import '../require-sources.cjs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RESULTS_VARIABLE } from './table.js';

/** Before all tests: names a file for what will be measured. */
export default async function begin(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'markets-odds-chaos-'));
  process.env[RESULTS_VARIABLE] = join(folder, 'measurements');
}
