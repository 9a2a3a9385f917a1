import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Holds the state of the sources that were built last. */
const STAMP = 'dist/.built';
const INPUTS = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
];

/** Builds when a source is not as it was at the last build; where nothing that builds is installed, nothing is built. */
export function buildIfStale() {
  if (!existsSync('node_modules/.bin/nest')) {
    if (existsSync('dist/main.js')) return;
    console.error('It is not built yet, and what builds it is not installed: npm ci --include=dev');
    process.exit(1);
  }
  const state = stateOfSources();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === state) return;
  execFileSync('npm', ['run', '-s', 'build'], { stdio: ['ignore', 2, 2] });
  // If a source changed while it was being built, it is built again the next time.
  markBuilt(state);
}

/** Notes that the sources are built. */
export function markBuilt(state = stateOfSources()) {
  writeFileSync(STAMP, state);
}

/** Not whether they are newer: the files of an archive, or of a backup, are older than the last build. */
function stateOfSources() {
  const sources = readdirSync('src', { recursive: true }).map((file) => join('src', file));
  const hash = createHash('sha256');
  for (const path of [...INPUTS, ...sources.toSorted()]) {
    const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? {};
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}
