import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzipSync,
} from 'node:zlib';
import { ownBuffer } from './own-buffer.js';

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } };
const GZIP = { level: 1 };

/** Fast levels: most answers change before the bytes that a slow level saves would pay for it. */
export const compressors = {
  br: {
    whole: (body: Buffer) => brotliCompressSync(body, BROTLI),
    pieceByPiece: () => createBrotliCompress(BROTLI),
  },
  gzip: {
    whole: (body: Buffer) => gzipSync(body, GZIP),
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
  private readonly compressed = new Map<Compression, Buffer>();
  private compressedBytes = 0;

  /** In bytes, not compressed. */
  readonly length: number;

  /** @param parts the body, piece by piece: to copy them together costs more than to send them */
  constructor(readonly parts: readonly Buffer[]) {
    this.length = lengthOf(parts);
  }

  /** The body in one piece. */
  get body(): Buffer {
    const [first] = this.parts;
    return first && this.parts.length === 1 ? first : Buffer.concat(this.parts);
  }

  /** Memory that its bodies take. */
  get bytes(): number {
    return this.length + this.compressedBytes;
  }

  /** The body compressed, as it was made the first time. */
  compress(by: Compression): Buffer {
    const known = this.compressed.get(by);
    if (known) return known;
    // The buffer that zlib returns takes 16 kB, however little is in it.
    const form = ownBuffer(compressors[by].whole(this.body));
    this.compressed.set(by, form);
    this.compressedBytes += form.length;
    return form;
  }
}
