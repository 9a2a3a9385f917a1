import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  type BrotliOptions,
} from 'node:zlib';
import { ownBuffer } from './own-buffer.js';

/** Smaller bodies are compressed at once, within 0.2 ms: handing them to another thread and back costs as much. */
const AT_ONCE_BYTES = 64 * 1024;

/** What is asked for so often before it changes is compressed anew, better: a fifth to a third of its bytes are saved. */
const LASTS_AFTER = 32;

const brotli = (quality: number): BrotliOptions => ({
  params: { [constants.BROTLI_PARAM_QUALITY]: quality },
});

/** By the `quick` level at first: a quarter of the work of the `better` one. */
const compressors = {
  br: {
    quick: 0,
    better: 5,
    atOnce: (body: Buffer, level: number) => brotliCompressSync(body, brotli(level)),
    later: (body: Buffer, level: number) => promisify(brotliCompress)(body, brotli(level)),
  },
  gzip: {
    quick: 1,
    better: 6,
    atOnce: (body: Buffer, level: number) => gzipSync(body, { level }),
    later: (body: Buffer, level: number) => promisify(gzip)(body, { level }),
  },
};

export type Compression = keyof typeof compressors;

interface Compressed {
  body: Buffer | Promise<Buffer>;
  bytes: number;
  asked: number;
}

/** In bytes. */
export function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** The finished body of an answer. */
export class JsonBody {
  private readonly compressed = new Map<Compression, Compressed>();
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

  /** The body compressed, at once if that was done before. */
  compress(by: Compression): Buffer | Promise<Buffer> {
    const form = this.compressed.get(by) ?? this.begin(by);
    form.asked += 1;
    if (form.asked === LASTS_AFTER) {
      const { better, later } = compressors[by];
      // Until it is done, and if it fails, there is the quick one.
      later(this.body, better).then((done) => this.keep(form, done), ignore);
    }
    return form.body;
  }

  private begin(by: Compression): Compressed {
    const { atOnce, later, quick } = compressors[by];
    const isSmall = this.length <= AT_ONCE_BYTES;
    const body = isSmall ? atOnce(this.body, quick) : later(this.body, quick);
    const form: Compressed = { body, bytes: 0, asked: 0 };
    this.compressed.set(by, form);
    if (Buffer.isBuffer(body)) this.keep(form, body);
    else body.then((done) => this.keep(form, done)).catch(() => this.compressed.delete(by));
    return form;
  }

  private keep(form: Compressed, done: Buffer): void {
    this.compressedBytes += done.length - form.bytes;
    form.bytes = done.length;
    // zlib's own takes 16 kB, however little is in it.
    form.body = ownBuffer(done);
  }
}

const ignore = () => undefined;
