// Builds when a source has changed since the last build, then runs what was built: `node scripts/run.js cli keys list`.
// In this very process, and without a shell in between: npm's signals reach it.
import { readFileSync } from 'node:fs';
import { buildIfStale } from './build-if-stale.js';

// Older than any that can load what was built.
const { node } = process.versions;
if (Number.parseInt(node) < 20) {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  console.error(`Needs Node.js ${engines.node}: this is ${node}`);
  process.exit(1);
}

buildIfStale();

// A signal to all processes, such as Ctrl-C, comes twice: npm passes its own on. A second one is meant a moment later.
const TWICE_WITHIN_MS = 250;
const emit = process.emit;
const signalledAt = { SIGINT: -Infinity, SIGTERM: -Infinity };
process.emit = function (name, ...args) {
  if (Object.hasOwn(signalledAt, name)) {
    const now = performance.now();
    if (now - signalledAt[name] < TWICE_WITHIN_MS) return true;
    signalledAt[name] = now;
  }
  return emit.call(this, name, ...args);
};

const [name] = process.argv.splice(2, 1);
await import(`../dist/${name}.js`);
