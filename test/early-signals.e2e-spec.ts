import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const SIGNALS_OF_THE_SERVER = new URL('../dist/early-signals.js', import.meta.url).href;

/** Takes a signal over in the very turn of the event loop in which it comes, as a start that keeps busy does. */
const PROGRAM = (signal: string) => `
  import { handleSignals } from '${SIGNALS_OF_THE_SERVER}';
  process.kill(process.pid, '${signal}');
  handleSignals((told) => process.exit(told === '${signal}' ? 7 : 8));
  setTimeout(() => process.exit(9), 5_000);
`;

it.each(['SIGTERM', 'SIGINT'])(
  'a %s that comes while the server takes signals over is not lost',
  async (signal) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM(signal)]);
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(7);
  },
);
