import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs a compiled script of the bench as a process of its own, on any core: there are more than cores here. */
export function startScript(script: string, args: readonly string[] = []): ChildProcess {
  return fork(fileURLToPath(new URL(`../${script}`, import.meta.url)), args);
}

/** The scripts end with the connection to their parent. */
export async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.disconnect();
  await gone;
}
