import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readYaml } from './read-yaml.js';

interface Package {
  readonly dependencies: object;
  readonly peerDependencies: object;
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
}

const JEST_CONFIG = new URL('../jest.config.js', import.meta.url).href;

const text = (file: string) => readFileSync(file, 'utf8');
const own = JSON.parse(text('package.json')) as Package;

const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));

it('each test is run by some script', async () => {
  const { default: config } = (await import(JEST_CONFIG)) as {
    default: { testMatch: string[] };
  };
  const inScripts = [
    ...Object.values(own.scripts)
      .join(' ')
      .matchAll(/--testMatch '([^']+)'/g),
  ];
  const globs = [...config.testMatch, ...inScripts.map(([, glob = '']) => glob)];
  const runs = [...globs, 'test/chaos/*.chaos-spec.ts'].map(patternOf);
  const tests = ['src', 'test']
    .flatMap(filesOf)
    .filter((file) => file.endsWith('.ts') && /^ *(?:it|test)(?:\.each)?\(/m.test(text(file)));
  expect(tests.length).toBeGreaterThan(100);
  expect(tests.filter((file) => !runs.some((run) => run.test(file)))).toEqual([]);
});

/** A glob as a regular expression. */
function patternOf(glob: string): RegExp {
  const pattern = glob
    .replace('<rootDir>/', '')
    .replaceAll('.', '\\.')
    .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(${names.replaceAll(',', '|')})`)
    .replaceAll(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(.*/)?'));
  return new RegExp(`^${pattern}$`);
}

it('what the service loads is installed without development tools', () => {
  const installed = new Set(
    [own.dependencies, own.peerDependencies].flatMap((packages) => Object.keys(packages)),
  );
  const sources = filesOf('src').filter((file) => /(?<!\.spec)\.ts$/.test(file));
  const loaded = sources.flatMap((file) => [
    ...text(file)
      .replaceAll(/^import type [^;]*;/gm, '')
      .matchAll(/(?:from|import)\s*\(?\s*'((?:@[\w-]+\/)?[\w-][\w.-]*)/g),
  ]);
  const packages = loaded.map(([, name = '']) => name).filter((name) => name !== 'node');
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.filter((name) => !installed.has(name))).toEqual([]);
});

it('CI runs what a newcomer runs, on each Node, and lets nothing pass', () => {
  expect(own.scripts['lint']).toContain('--deny-warnings');
  expect(own.scripts['test']).toMatch(/\blint\b/);
  expect(text('.ci/run')).toMatch(/^npm ci && npm test$/m);
  const { jobs } = readYaml('.github/workflows/ci.yml') as {
    jobs: { test: { strategy: { matrix: { node: number[] } } } };
  };
  const needed = [...own.engines.node.matchAll(/(\d+)\.\d+/g)].map(([, major]) => Number(major));
  expect(needed).toEqual([20, 22]);
  expect(jobs.test.strategy.matrix.node).toEqual(expect.arrayContaining(needed));
  expect(text('.github/workflows/ci.yml')).toMatch(/oasdiff" breaking .* --fail-on ERR$/m);
  const release = readYaml('.github/workflows/release.yml') as {
    jobs: { publish: { needs: string } };
  };
  expect(release.jobs.publish.needs).toBe('test');
});

it('no settings are committed', () => {
  expect(text('.gitignore')).toMatch(/^\.env$/m);
});
