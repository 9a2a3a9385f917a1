import type { Readable } from 'node:stream';

const NEWS = ['readable', 'end', 'error', 'close'];

/**
 * What a stream has to give, until it ends or the signal comes; what has arrived by then is given too.
 * @throws what the stream fails with
 */
export async function* readUntil(stream: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  // `stream.errored` is checked below; without a listener an error would end the process.
  stream.on('error', () => undefined);
  try {
    while (!signal.aborted && !isOver(stream)) {
      const chunk: Buffer | null = stream.read();
      if (chunk) yield chunk;
      else await newsOf(stream, signal);
    }
    const rest: Buffer | null = stream.read();
    if (rest) yield rest;
    if (stream.errored) throw stream.errored;
  } finally {
    stream.destroy();
  }
}

function isOver({ readableEnded, destroyed }: Readable): boolean {
  return readableEnded || destroyed;
}

function newsOf(stream: Readable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const tell = () => {
      for (const event of NEWS) stream.off(event, tell);
      signal.removeEventListener('abort', tell);
      resolve();
    };
    for (const event of NEWS) stream.on(event, tell);
    signal.addEventListener('abort', tell);
    if (isOver(stream) || signal.aborted) tell();
  });
}
