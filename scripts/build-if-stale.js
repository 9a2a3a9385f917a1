import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const STAMP = 'dist/.built';
const INPUTS = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
];

const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Builds when a source is newer than the last build; where nothing that builds is installed, what was built is taken. */
export function buildIfStale() {
  if (!existsSync('node_modules/.bin/nest')) {
    if (existsSync('dist/main.js')) return;
    console.error('It is not built yet, and what builds it is not installed: npm ci --include=dev');
    process.exit(1);
  }
  const sources = readdirSync('src', { recursive: true }).map((file) => join('src', file));
  if (Math.max(...[...INPUTS, ...sources].map(changedAt)) < changedAt(STAMP)) return;
  const startedAt = new Date();
  execFileSync('npm', ['run', '-s', 'build'], { stdio: ['ignore', 2, 2] });
  writeFileSync(STAMP, '');
  // A source that changed while it was being built counts as newer.
  utimesSync(STAMP, startedAt, startedAt);
}
