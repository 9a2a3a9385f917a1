import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';

/** The server under test has a core of its own; everything else shares the other. */
export const SERVER_CORE = 0;
export const OTHER_CORE = 1;

/** Clock ticks of /proc in a second: fixed on Linux. */
const TICKS_PER_SECOND = 100;

/** Whether processes can be kept on a core: with `taskset`, on Linux, with two cores or more. */
export const canPin = canRunTaskset() && availableParallelism() > 1;

function canRunTaskset(): boolean {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The command line that runs a program on one core, where that can be. */
export function onCore(core: number, command: readonly string[]): [string, ...string[]] {
  const [program = '', ...rest] = command;
  return canPin ? ['taskset', '-c', String(core), program, ...rest] : [program, ...rest];
}

/** Moves a process with all its threads. */
export function moveToCore(core: number, pid: number): void {
  if (canPin)
    execFileSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' });
}

/** Processor time that a process has used, in seconds; not a number where there is no /proc. */
export function cpuSeconds(pid: number): number {
  const text = textOf(`/proc/${pid}/stat`);
  // The name in parentheses may hold spaces; user and system time are the 12th and 13th field behind it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The most memory that a process ever had in use, in MiB; not a number where there is no /proc. */
export function peakMemoryMb(pid: number): number {
  const kib = /^VmHWM:\s*(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`))?.[1];
  return Number(kib ?? NaN) / 1024;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The machine in one line. */
export function machine(mongodVersion: string): string {
  return [
    `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'})`,
    `${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
    `${process.platform} ${process.arch}`,
    `Node ${process.versions.node}`,
    `MongoDB ${mongodVersion}`,
  ].join(', ');
}
