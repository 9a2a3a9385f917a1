import type { Response } from 'express';

interface Stream {
  readonly keyId: string;
  readonly response: Response;
}

/** What clients read in a moment is not counted. Bytes. */
const LARGE_BYTES = 256 * 1024;

/** Bytes of large events that may be on their way on the streams of one key, and on all together. */
const OF_KEY_MAX = 16 * 1024 * 1024;
const TOTAL_MAX = 48 * 1024 * 1024;

/** Bounds the memory of large events that clients have not read yet: further ones wait, and become one. */
export class UnsentEvents {
  private readonly large = new Set<Stream>();

  /** To be called when an event was written to a stream. */
  wrote(stream: Stream): void {
    if (stream.response.writableLength >= LARGE_BYTES) this.large.add(stream);
  }

  /** To be called at short intervals: forgets what was read, and streams that are gone. */
  forgetRead(): void {
    for (const stream of this.large) {
      const { destroyed, writableLength } = stream.response;
      if (destroyed || writableLength < LARGE_BYTES) this.large.delete(stream);
    }
  }

  /** Whether an event of so many bytes may be written to a stream: a small one always, and a key's only large one. */
  hasRoom({ keyId }: Stream, eventBytes: number): boolean {
    if (eventBytes < LARGE_BYTES) return true;
    let [ofKey, total] = [0, 0];
    for (const stream of this.large) {
      const { writableLength } = stream.response;
      total += writableLength;
      if (stream.keyId === keyId) ofKey += writableLength;
    }
    return ofKey === 0 || ofKey < Math.min(OF_KEY_MAX, TOTAL_MAX - total);
  }
}
