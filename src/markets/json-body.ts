import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const compressors = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
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
    const pending = this.compressNow(by);
    this.compressed.set(by, pending);
    return pending;
  }

  private async compressNow(by: Compression): Promise<Buffer> {
    try {
      const done = await compressors[by](this.body);
      this.compressed.set(by, done);
      this.compressedBytes += done.length;
      return done;
    } catch (error) {
      this.compressed.delete(by);
      throw error;
    }
  }
}
