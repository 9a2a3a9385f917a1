import { CommandFailure, printableJson, printableLines, type Result } from './common/command.js';
import { isNullDevice, isReaderGone, writeWhole } from './common/output.js';

const { stdout, stderr } = process;

// Each write tells its own failure.
for (const stream of [stdout, stderr]) stream.on('error', () => undefined);

/** A message on stderr; a failure to write it is ignored. */
export async function say(message: string): Promise<void> {
  await writeWhole(stderr, `${printableLines(message)}\n`).catch(() => undefined);
}

/** The result on stdout; a reader such as `head` may close it early. */
export async function print(result: Result, json: boolean): Promise<void> {
  try {
    await writeWhole(stdout, rendered(result, json));
  } catch (error) {
    if (!isReaderGone(error)) throw unwritten(error);
  }
}

/**
 * The result on stdout, for sure.
 * @throws CommandFailure when it can't be written, or the signal comes first
 */
export async function deliver(result: Result, json: boolean, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (isNullDevice(stdout)) throw new CommandFailure('stdout leads nowhere: nobody would see it');
  const stopped = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
  const written = writeWhole(stdout, rendered(result, json)).catch((error: unknown) => {
    throw unwritten(error);
  });
  await Promise.race([written, stopped]);
}

function rendered({ json, text }: Result, asJson: boolean): string {
  return `${asJson ? printableJson(json) : printableLines(text)}\n`;
}

function unwritten(error: unknown): CommandFailure {
  return new CommandFailure(`stdout can't be written: ${(error as NodeJS.ErrnoException).code}`);
}
