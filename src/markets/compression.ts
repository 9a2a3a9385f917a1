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

/** The body compressed: at once if it is short, else as a promise. */
export function compress(by: Compression, body: Buffer): Buffer | Promise<Buffer> {
  return compressors[by][body.length <= AT_ONCE_BYTES ? 'atOnce' : 'later'](body);
}
