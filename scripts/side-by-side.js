// Runs npm scripts side by side, and fails if one of them fails: `node scripts/side-by-side.js lint build`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The exit code of a shell that does not find a program. */
const NOT_FOUND = 127;

const names = process.argv.slice(2);
const codes = await Promise.all(
  names.map(async (name) => {
    const options = { stdio: 'inherit', shell: process.platform === 'win32' };
    const [code] = await once(spawn('npm', ['run', '-s', name], options), 'exit');
    return code;
  }),
);
const failed = names.filter((_, index) => codes[index] !== 0);
// Last of all, below what the others have printed.
for (const name of failed) console.error(`npm run ${name} fails`);
if (codes.includes(NOT_FOUND))
  console.error('A program that is missing is installed by npm ci --include=dev');
process.exit(failed.length === 0 ? 0 : 1);
