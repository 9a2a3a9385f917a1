import { expect } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';

/**
 * Expects a generated file in the repository to be up to date.
 * `UPDATE_COMMITTED=true npm run jest` writes it instead; its diff is for the review.
 */
export async function expectCommitted(path: string, content: string): Promise<void> {
  if (process.env['UPDATE_COMMITTED'] === 'true') await writeFile(path, content);
  expect(await readFile(path, 'utf8')).toBe(content);
}
