import { fstatSync, statSync, type BigIntStats } from 'node:fs';

/** The name of the standard input. */
export const STDIN = '-';

/** The length of all files together in bytes; 0 when one of them has none to tell. */
export function totalBytes(files: readonly string[]): number {
  const stats = files.map(statsOf);
  if (!stats.every((each) => each?.isFile())) return 0;
  return stats.reduce((total, each) => total + Number(each?.size ?? 0), 0);
}

/** Whether a path leads to one of the files, by whatever link or redirection. */
export function isAmong(path: string, files: readonly string[]): boolean {
  const target = statsOf(path);
  if (!target?.isFile()) return false;
  return files.some((file) => {
    const stats = statsOf(file);
    return stats?.dev === target.dev && stats.ino === target.ino;
  });
}

function statsOf(file: string): BigIntStats | undefined {
  try {
    return file === STDIN
      ? fstatSync(process.stdin.fd, { bigint: true })
      : statSync(file, { bigint: true });
  } catch {
    return undefined;
  }
}
