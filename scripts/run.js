// Builds when a source is newer than the last build, then runs what was built: `node scripts/run.js cli keys list`.
// In this very process, and without a shell in between: npm's signals reach it.
import { buildIfStale } from './build-if-stale.js';

buildIfStale();

// Ctrl-C comes twice: from the terminal, and from npm, which passes its own on. A second one is meant half a second later.
const TWICE_WITHIN_MS = 500;
const emit = process.emit;
let interruptedAt = -Infinity;
process.emit = function (name, ...args) {
  if (name === 'SIGINT') {
    const isRepeated = performance.now() - interruptedAt < TWICE_WITHIN_MS;
    interruptedAt = performance.now();
    if (isRepeated) return true;
  }
  return emit.call(this, name, ...args);
};

const [name] = process.argv.splice(2, 1);
await import(`../dist/${name}.js`);
