import type { Readable } from 'node:stream';

/** The bytes of a file, piece by piece. */
export type Chunks = AsyncGenerator<Buffer, void>;

/**
 * The chunks of a stream until it ends or the signal is aborted, with what has arrived by then.
 * @throws what the stream fails with
 */
export async function* readUntil(stream: Readable, signal = new AbortController().signal): Chunks {
  let wake: (() => void) | undefined;
  const tell = () => wake?.();
  // `stream.errored` is checked below; without a listener an error would end the process.
  for (const event of ['readable', 'end', 'error', 'close']) stream.on(event, tell);
  signal.addEventListener('abort', tell);
  try {
    while (!signal.aborted && !stream.readableEnded && !stream.destroyed) {
      const chunk: Buffer | null = stream.read();
      if (chunk) yield chunk;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    const rest: Buffer | null = stream.read();
    if (rest) yield rest;
    if (stream.errored) throw stream.errored;
  } finally {
    signal.removeEventListener('abort', tell);
    stream.destroy();
  }
}
