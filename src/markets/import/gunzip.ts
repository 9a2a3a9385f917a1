import { createGunzip } from 'node:zlib';
import { startsWith, withHead, type Chunks } from './chunks.js';
import { InputFault } from './raw-record.js';

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** Unpacked at a time, to at most a thousand times as many bytes. */
const PACKED_SLICE_BYTES = 16 * 1024;

/** The same bytes, unpacked if they are gzip. */
export async function* unpacked(input: Chunks): Chunks {
  let unpacker: Unpacker | undefined;
  let isFirst = true;
  for await (const chunk of withHead(input, GZIP_MAGIC.length)) {
    if (isFirst && startsWith(chunk, GZIP_MAGIC)) unpacker = new Unpacker();
    isFirst = false;
    if (unpacker) yield* unpacker.push(chunk);
    else yield chunk;
  }
  if (unpacker) yield* unpacker.end();
}

/**
 * Unpacks gzip, one member after the other. A pipe would forget what it has unpacked when the rest turns
 * out to be cut; here every whole record before that is read.
 */
class Unpacker {
  private readonly gunzip = createGunzip();
  private output: Buffer[] = [];
  private closed = () => {};

  constructor() {
    this.gunzip.on('data', (chunk: Buffer) => this.output.push(chunk));
    // `errored` is looked at; without a listener an error would end the process.
    this.gunzip.on('error', () => undefined);
    this.gunzip.on('close', () => this.closed());
  }

  async *push(chunk: Buffer): Chunks {
    for (let start = 0; start < chunk.length; start += PACKED_SLICE_BYTES) {
      const slice = chunk.subarray(start, start + PACKED_SLICE_BYTES);
      await this.until((done) => this.gunzip.write(slice, done));
      yield* this.take();
    }
  }

  async *end(): Chunks {
    await this.until(() => this.gunzip.end());
    yield* this.take();
  }

  private *take(): Iterable<Buffer> {
    yield* this.output;
    this.output = [];
    const { errored } = this.gunzip;
    if (errored) throw new InputFault(`the gzip data is cut or damaged: ${errored.message}`);
  }

  private until(start: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      this.closed = resolve;
      start(resolve);
    });
  }
}
