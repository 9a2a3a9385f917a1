import {
  constants,
  createReadStream,
  createWriteStream,
  fstatSync,
  openSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';

const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_NONBLOCK } = constants;

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
  if (!target) return files.some((file) => resolve(file) === resolve(path));
  if (!target.isFile()) return false;
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

// Opened in blocking mode, a FIFO without another end would hold one of Node's threads, and the process could not end.

/** @throws when the file can't be opened */
export function openForReading(path: string): Readable {
  if (path === STDIN) return standardInput();
  const fd = openSync(path, O_RDONLY | O_NONBLOCK);
  if (isatty(fd)) return new ReadStream(fd);
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
  return createReadStream(path, { fd });
}

/** Node's own stream of a directory would end at once, as if that were an empty file. */
function standardInput(): Readable {
  return fstatSync(0).isDirectory() ? createReadStream(STDIN, { fd: 0 }) : process.stdin;
}

/** Empties the file, or makes it. @throws when it can't be opened */
export function openForWriting(path: string): Writable {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK);
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: false, writable: true });
  return createWriteStream(path, { fd });
}
