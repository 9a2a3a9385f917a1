import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  type BrotliOptions,
} from 'node:zlib';

/** Smaller bodies are compressed at once, within 0.2 ms: handing them to another thread and back costs as much. */
const AT_ONCE_BYTES = 32 * 1024;

const BROTLI: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const compressors = {
  br: {
    atOnce: (body: Buffer) => brotliCompressSync(body, BROTLI),
    later: (body: Buffer) => promisify(brotliCompress)(body, BROTLI),
  },
  gzip: {
    atOnce: (body: Buffer) => gzipSync(body),
    later: (body: Buffer) => promisify(gzip)(body),
  },
};

export type Compression = keyof typeof compressors;

/** The finished body of an answer. */
export class JsonBody {
  private readonly compressed = new Map<Compression, Buffer | Promise<Buffer>>();
  private compressedBytes = 0;

  constructor(readonly body: Buffer) {}

  /** Memory that its bodies take. */
  get bytes(): number {
    return this.body.length + this.compressedBytes;
  }

  /** The body compressed, at once if that was done before. */
  compress(by: Compression): Buffer | Promise<Buffer> {
    const known = this.compressed.get(by);
    if (known) return known;
    if (this.body.length <= AT_ONCE_BYTES) {
      return this.keep(by, compressors[by].atOnce(this.body));
    }
    const pending = this.compressLater(by);
    this.compressed.set(by, pending);
    return pending;
  }

  private keep(by: Compression, done: Buffer): Buffer {
    this.compressed.set(by, done);
    this.compressedBytes += done.length;
    return done;
  }

  private async compressLater(by: Compression): Promise<Buffer> {
    try {
      return this.keep(by, await compressors[by].later(this.body));
    } catch (error) {
      this.compressed.delete(by);
      throw error;
    }
  }
}
