import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const pages = ['.', 'docs', 'docs/decisions', 'clients/typescript'].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

/** The files that a page links to, each with the constant that it is said to hold, if any. */
function linksOf(page: string) {
  const found = readFileSync(page, 'utf8').matchAll(
    /(?:`([A-Z_]{4,})` in )?\[[^\]]*\]\((?!https?:|#)([^)#]+)/g,
  );
  return [...found].map(([, constant = '', link = '']) => ({
    page,
    constant,
    path: join(dirname(page), link),
  }));
}

const links = pages.flatMap(linksOf);

it('names no file in a page of documentation that is not there', () => {
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter(({ path }) => !existsSync(path))).toEqual([]);
});

it('names no constant that the file does not hold', () => {
  const named = links.filter(({ constant }) => constant);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((link) => !readFileSync(link.path, 'utf8').includes(link.constant))).toEqual(
    [],
  );
});
