import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Target } from './open-loop.js';

/** The value of a metric without labels. */
export async function metric(target: Target, name: string): Promise<number> {
  return (await metricsOf(target))(name);
}

/** All metrics as they are at one moment: gives the value of each that has no labels. */
export async function metricsOf({ port }: Target): Promise<(name: string) => number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  return (name) => {
    const [, value] = new RegExp(`^${name} (.+)$`, 'm').exec(text) ?? [];
    if (value === undefined) throw new Error(`No metric ${name}`);
    return Number(value);
  };
}

/** Open files of a process: sockets, mostly. */
export async function descriptorsOf(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** Memory of a process that is in use, in MB. */
export function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
