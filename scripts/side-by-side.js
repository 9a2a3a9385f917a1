// Runs npm scripts side by side, and fails if one of them fails: `node scripts/side-by-side.js lint build`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const names = process.argv.slice(2);
const codes = await Promise.all(
  names.map(async (name) => {
    const options = { stdio: 'inherit', shell: process.platform === 'win32' };
    const [code] = await once(spawn('npm', ['run', '-s', name], options), 'exit');
    if (code !== 0) console.error(`npm run ${name} fails`);
    return code;
  }),
);
process.exit(codes.every((code) => code === 0) ? 0 : 1);
