import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PAGE = 'docs/performance.md';
const PICTURES = 'docs/performance';
const RESULTS = /(?<=<!-- bench -->\n).*?(?=<!-- \/bench -->)/s;

/** Puts the results of a run into the page about performance, and its pictures beside it. */
export async function writeReport(
  results: string,
  pictures: Readonly<Record<string, string>>,
): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  await writeFile(
    PAGE,
    page.replace(RESULTS, () => `\n${results}\n\n`),
  );
  await mkdir(PICTURES, { recursive: true });
  for (const [name, picture] of Object.entries(pictures)) {
    await writeFile(join(PICTURES, name), picture);
  }
}
