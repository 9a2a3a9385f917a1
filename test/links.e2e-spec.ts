import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const pages = ['.', 'docs', 'docs/decisions', 'clients/typescript'].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

/** What the pages have of a pattern. */
function findAll(pattern: RegExp) {
  return pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(pattern)].map((match) => ({ page, match })),
  );
}

/** The files that pages link to, with the heading there, and the constants that the file is said to hold. */
const links = findAll(
  /(?:((?:`[A-Z_]{4,}`(?:, )?)+) in )?\[[^\]]*\]\((?!https?:)([^)#]*)#?([^)]*)\)/g,
).map(({ page, match: [, constants = '', link, heading = ''] }) => ({
  page,
  path: link ? join(dirname(page), link) : page,
  heading,
  constants: [...constants.matchAll(/\w+/g)].map(([name]) => name),
}));

/** The headings of a page, as links name them. */
function headingsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

it('names no file in a page of documentation that is not there', () => {
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter(({ path }) => !existsSync(path))).toEqual([]);
});

it('names no constant that the file does not hold', () => {
  const named = links.flatMap(({ constants, ...link }) =>
    constants.map((constant) => ({ ...link, constant })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((link) => !readFileSync(link.path, 'utf8').includes(link.constant))).toEqual(
    [],
  );
});

it('leads to no heading that the page does not have', () => {
  const named = links.filter(({ heading }) => heading);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(({ path, heading }) => !headingsOf(path).includes(heading))).toEqual([]);
});

it('names no source, test or script in passing that is not there', () => {
  const files = ['src', 'test', 'bench', 'deploy'].flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => basename(String(name))),
  );
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
  const stems = files.map((name) => name.replace(/(?:\.[\w-]+-spec)?\.ts$/, ''));
  // `deploy/compose/make-secrets.sh` makes it.
  const there = new Set([...files, ...stems, ...Object.keys(scripts), 'service.env']);
  const named = [
    ...findAll(/`(?:src|test|bench|deploy)\/[\w/-]*?([\w.-]+)`/g),
    ...findAll(/npm run (?:-s )?([\w:]+)/g),
    // What a page says that tests hold.
    ...findAll(/Held:\s[^]*?\.\s/g).flatMap(({ page, match: [sentence] }) =>
      [...sentence.matchAll(/`([\w.-]+)`/g)].map((match) => ({ page, match })),
    ),
  ].map(({ page, match: [, name = ''] }) => ({ page, name }));
  expect(named.length).toBeGreaterThan(80);
  expect(named.filter(({ name }) => !there.has(name))).toEqual([]);
});
