import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { onCore } from './machine.js';

/** Every process that was started and has not been ended. */
const running = new Set<ChildProcess>();

/** Runs a compiled script of the bench, or of the service, as a process of its own on one core. */
export function startNode(
  core: number,
  script: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  node = process.execPath,
): ChildProcess {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const [program, ...rest] = onCore(core, [node, path, ...args]);
  const child = spawn(program, rest, {
    // Away from any `.env`.
    cwd: tmpdir(),
    // No settings but these: what is measured are the defaults.
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Waits for the first message of a child. */
export async function ready(child: ChildProcess): Promise<void> {
  await Promise.race([once(child, 'message'), failure(child)]);
}

async function failure(child: ChildProcess): Promise<never> {
  await once(child, 'exit');
  throw new Error(`${child.spawnargs.join(' ')} ended early`);
}

/** Ends a process at once: none has anything to tidy up. */
export async function end(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

export async function endAll(): Promise<void> {
  await Promise.all([...running].map(end));
}
