import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import { ownBuffer } from './own-buffer.js';

/**
 * Smaller bodies are compressed at once, within 0.2 ms: handing them to another thread and back costs as much. Larger
 * ones are handed over, so that they hold up no look-up.
 */
const AT_ONCE_BYTES = 64 * 1024;

/**
 * Fast levels: most answers are replaced too soon to be worth a slower one. Below 2, br is larger than gzip. A window of
 * 2^16 bytes takes 0.5 MB for a body that is compressed piece by piece, where the usual one takes 2.5 MB.
 */
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 2, [constants.BROTLI_PARAM_LGWIN]: 16 },
};
const GZIP = { level: 1 };

export const compressors = {
  br: {
    atOnce: (body: Buffer) => brotliCompressSync(body, BROTLI),
    later: (body: Buffer) => promisify(brotliCompress)(body, BROTLI),
    pieceByPiece: () => createBrotliCompress(BROTLI),
  },
  gzip: {
    atOnce: (body: Buffer) => gzipSync(body, GZIP),
    later: (body: Buffer) => promisify(gzip)(body, GZIP),
    pieceByPiece: () => createGzip(GZIP),
  },
};

export type Compression = keyof typeof compressors;

/** In bytes. */
export function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** The finished body of an answer. */
export class JsonBody {
  private readonly compressed = new Map<Compression, Buffer | Promise<Buffer>>();
  private compressedBytes = 0;

  /** In bytes, not compressed. */
  readonly length = lengthOf(this.parts);

  /** @param parts the body, piece by piece: to copy them together costs more than to send them */
  constructor(readonly parts: readonly Buffer[]) {}

  /** The body in one piece. */
  get body(): Buffer {
    const [first] = this.parts;
    return first && this.parts.length === 1 ? first : Buffer.concat(this.parts);
  }

  /** Memory that its bodies take. */
  get bytes(): number {
    return this.length + this.compressedBytes;
  }

  /** The body compressed: at once if it is short, or was compressed before; else as a promise. */
  compress(by: Compression): Buffer | Promise<Buffer> {
    return this.compressed.get(by) ?? this.begin(by);
  }

  private begin(by: Compression): Buffer | Promise<Buffer> {
    const { atOnce, later } = compressors[by];
    if (this.length <= AT_ONCE_BYTES) return this.keep(by, atOnce(this.body));
    const form = later(this.body).then((done) => this.keep(by, done));
    this.compressed.set(by, form);
    form.catch(() => this.compressed.delete(by));
    return form;
  }

  private keep(by: Compression, done: Buffer): Buffer {
    // The buffer that zlib returns takes 16 kB, however little is in it.
    const form = ownBuffer(done);
    this.compressed.set(by, form);
    this.compressedBytes += form.length;
    return form;
  }
}
