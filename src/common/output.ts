import { fstatSync, statSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';

type Output = NodeJS.WriteStream & { readonly fd: number };

/** Writes a text whole. Who awaits it never gets ahead of a slow reader. */
export async function writeWhole(stream: Output, text: string): Promise<void> {
  // Node's own stream for files drops the rest of a write that a full disk has cut.
  if (fstatSync(stream.fd).isFile()) return writeFileSync(stream.fd, text);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Whether what is written is lost. Node opens the null device in the place of a closed output. */
export function isNullDevice({ fd }: Output): boolean {
  const stats = fstatSync(fd);
  return stats.isCharacterDevice() && stats.rdev === statSync(devNull).rdev;
}

/** Whether a write failed since its reader has gone. */
export function isReaderGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE';
}
