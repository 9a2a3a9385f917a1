import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** The folders of src, each may import those that stand before it. The programs, in src itself, may import all. */
const LAYERS = [
  ['common'],
  ['http', 'embedded-mongod'],
  ['database'],
  ['change-feed'],
  ['api-keys', 'db-admin', 'health'],
  ['markets'],
  ['telemetry', 'demo', 'docs'],
];

/** Settings are part of the programs, yet everybody may read them. */
const CONFIG = 'src/config.ts';

const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)\.js'/g;

function importsOf(file: string, source = readFileSync(file, 'utf8')): string[] {
  const found = source.matchAll(IMPORT);
  return [...found]
    .map(([, path = '']) => normalize(join(dirname(file), `${path}.ts`)))
    .filter((path) => existsSync(path));
}

const files = readdirSync('src', { recursive: true })
  .map((name) => join('src', String(name)))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'));

function layerOf(file: string): number {
  const [, folder = '', ...rest] = file.split('/');
  if (rest.length === 0) return file === CONFIG ? 0.5 : LAYERS.length;
  const layer = LAYERS.findIndex((folders) => folders.includes(folder));
  if (layer < 0) throw new Error(`src/${folder} has no layer`);
  return layer;
}

it('no folder imports from one above it', () => {
  const upwards = files.flatMap((file) =>
    importsOf(file)
      .filter((imported) => layerOf(imported) > layerOf(file))
      .map((imported) => `${file} -> ${imported}`),
  );
  expect(upwards).toEqual([]);
});

it('CONTRIBUTING.md tells this order', () => {
  const page = readFileSync('CONTRIBUTING.md', 'utf8').replaceAll(/\s+/g, ' ');
  const told = LAYERS.map((folders) => folders.map((folder) => `\`${folder}\``).join(', '));
  const [common = '', ...others] = told;
  expect(page).toContain([...others.toReversed(), '`config.ts`', common].join(' → '));
});

it('no file imports itself by way of others', () => {
  const circles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file]);
    if (done.has(file)) return;
    done.add(file);
    for (const imported of importsOf(file)) visit(imported, [...way, file]);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

it('commands load no Nest and no Swagger, which take longer to load than most commands to run', () => {
  const importers: string[] = [];
  const done = new Set<string>();
  const visit = (file: string) => {
    if (done.has(file)) return;
    done.add(file);
    const loaded = readFileSync(file, 'utf8').replaceAll(/^import type [^;]*;/gm, '');
    if (loaded.includes("from '@nestjs/")) importers.push(file);
    for (const imported of importsOf(file, loaded)) visit(imported);
  };
  visit('src/cli.ts');
  expect(importers).toEqual([]);
  expect(done).toContain('src/markets/import/market-writer.ts');
});

it('what needs a MongoDB of the tests lives in `test`', () => {
  const specs = readdirSync('src', { recursive: true })
    .map((name) => join('src', String(name)))
    .filter((name) => name.endsWith('.spec.ts'));
  const needing = specs.filter((spec) =>
    importsOf(spec).some((imported) => imported === 'test/mongo.ts' || imported === 'test/app.ts'),
  );
  expect(specs.length).toBeGreaterThan(50);
  expect(needing).toEqual([]);
});
