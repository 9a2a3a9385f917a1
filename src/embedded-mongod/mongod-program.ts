import { execFile, type ExecFileException } from 'node:child_process';
import { promisify } from 'node:util';

export const execute = promisify(execFile);

/** Change streams with pre-images came with MongoDB 6. */
const OLDEST_MAJOR = 6;

const NO_PROGRAM = 'no such program';

/**
 * The program, if it can serve as mongod.
 * @throws Error that says why it can't
 */
export async function usableMongod(program: string): Promise<string> {
  const answer = await execute(program, ['--version'], { timeout: 20_000 }).catch(firstLine);
  if (answer === NO_PROGRAM) throw new Error(`there is no ${program} that this system can run`);
  if (typeof answer === 'string') throw new Error(`${program} does not run: ${answer}`);
  const major = /db version v(\d+)/.exec(answer.stdout)?.[1];
  if (!major) throw new Error(`${program} is no mongod`);
  if (Number(major) < OLDEST_MAJOR) {
    throw new Error(`${program} is MongoDB ${major}, older than ${OLDEST_MAJOR}`);
  }
  return program;
}

/** The line that says most about why a program failed. */
export function firstLine(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message, stderr, code } = error as ExecFileException;
  if (code === 'ENOENT' && stderr !== undefined) return NO_PROGRAM;
  const lines = (stderr || message).split('\n').filter((line) => line.trim());
  // Python ends with it, pip too where it fails in a way of its own, as for want of space.
  const raised = lines.findLast((line) => /^[\w.]+Error: /.test(line));
  return raised ?? lines.find((line) => /^error/i.test(line)) ?? lines[0] ?? '';
}
