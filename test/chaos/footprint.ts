import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';

/** Open files of a process: sockets, mostly. */
export async function descriptorsOf(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** Memory of a process that is in use, in MB. */
export function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
