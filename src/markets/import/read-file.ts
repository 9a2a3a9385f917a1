import { messageOf, printable } from '../../common/command.js';
import type { Chunks } from './chunks.js';
import { STDIN } from './input-files.js';
import { openForReading } from './open-file.js';
import { InputFault } from './raw-record.js';
import { readUntil } from './read-until.js';

/**
 * What a file, or the standard input, has to give until the signal comes.
 * @throws InputFault when it can't be read
 */
export async function* readFile(file: string, signal: AbortSignal): Chunks {
  try {
    const stream = file === STDIN ? process.stdin : openForReading(file);
    yield* readUntil(stream, signal);
  } catch (error) {
    throw new InputFault(`can't be read: ${printable(messageOf(error))}`);
  }
}
