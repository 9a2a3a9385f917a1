import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PAGE = 'docs/performance.md';
const PICTURES = 'docs/performance';

/** Puts the results of a run into the page about performance, and its pictures beside it. */
export async function writeReport(
  results: string,
  pictures: Readonly<Record<string, string>>,
): Promise<void> {
  await writeBetween('bench', PAGE, results);
  await mkdir(PICTURES, { recursive: true });
  for (const [name, picture] of Object.entries(pictures)) {
    await writeFile(join(PICTURES, name), picture);
  }
}

/**
 * Replaces what a page has between two comments.
 * @param marker the first comment's text; the other's has a slash before it
 */
export async function writeBetween(marker: string, page: string, text: string): Promise<void> {
  const place = new RegExp(`(?<=<!-- ${marker} -->\\n).*?(?=<!-- /${marker} -->)`, 's');
  const old = await readFile(page, 'utf8');
  const written = old.replace(place, () => `\n${text}\n\n`);
  await writeFile(page, written);
  await promisify(execFile)('npx', ['oxfmt', page]);
}
