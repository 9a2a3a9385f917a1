import { once } from 'node:events';
import { fstatSync, statSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Result } from './common/command.js';
import { redact } from './common/redact.js';
import { printableJson, printableLines } from './common/text.js';

type Output = NodeJS.WriteStream & { readonly fd: number };

const { stdout, stderr } = process;

// `writeWhole` reports a failure; without a listener the event would end the process.
for (const stream of [stdout, stderr]) stream.on('error', () => undefined);

/** Writes a whole text. Resolves when it is written, so that a caller can't get ahead of a slow reader. */
export async function writeWhole(stream: Output, text: string): Promise<void> {
  // Node's own stream for files drops the rest of a write that a full disk has cut.
  if (fstatSync(stream.fd).isFile()) return writeFileSync(stream.fd, text);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** A message on stderr, without keys and passwords; a failure to write it is ignored. */
export async function say(message: string): Promise<void> {
  await writeWhole(stderr, `${redact(printableLines(message))}\n`).catch(() => undefined);
}

/** The result on stdout; a reader such as `head` may close it early. */
export async function print(result: Result, json: boolean): Promise<void> {
  try {
    await writeWhole(stdout, rendered(result, json));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw writeFailure(error);
  }
}

/**
 * The result on stdout; unlike `print`, it fails if nobody can get the result.
 * @throws Error when it can't be written, or the signal comes first
 */
export async function deliver(result: Result, json: boolean, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (isNullDevice(stdout)) throw new Error('stdout leads nowhere: nobody would see the key');
  const stopped = once(signal, 'abort').then(() => signal.throwIfAborted());
  const written = writeWhole(stdout, rendered(result, json)).catch((error: unknown) => {
    throw writeFailure(error);
  });
  await Promise.race([written, stopped]);
}

/** A result as it is printed. */
export function rendered({ json, text }: Result, asJson: boolean): string {
  return `${asJson ? printableJson(json) : printableLines(text)}\n`;
}

function writeFailure(error: unknown): Error {
  return new Error(`stdout can't be written: ${(error as NodeJS.ErrnoException).code}`);
}

/** Whether what is written is lost. Node opens the null device in the place of a closed output. */
function isNullDevice({ fd }: Output): boolean {
  const stats = fstatSync(fd);
  return stats.isCharacterDevice() && stats.rdev === statSync(devNull).rdev;
}
