import { readFile, writeFile } from 'node:fs/promises';

/**
 * Reads a generated file of the repository, to be compared with what it should hold.
 * `UPDATE_COMMITTED=true npm run jest` writes it first; its diff is for the review.
 */
export async function readCommitted(path: string, current: string): Promise<string> {
  if (process.env['UPDATE_COMMITTED'] === 'true') await writeFile(path, current);
  return readFile(path, 'utf8');
}
