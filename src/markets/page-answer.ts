import { hash } from 'node:crypto';
import { pageMeta, type PageQuery } from '../http/input/page.js';
import { compress, type Compression } from './compression.js';
import { ownBuffer } from './own-buffer.js';

/** The answer to a look-up: one page as JSON, with the tag that changes if and only if its body does. */
export class PageAnswer {
  readonly items: number;
  readonly body: Buffer;
  readonly etag: string;
  private readonly compressed = new Map<Compression, Buffer | Promise<Buffer>>();
  /** Memory that its bodies take. */
  bytes: number;

  /**
   * @param markets the markets of the page, each as JSON text
   * @param itemCount all that match, on whatever page
   */
  constructor(query: PageQuery, markets: readonly string[], itemCount: number) {
    const meta = JSON.stringify(pageMeta(query, itemCount));
    this.items = markets.length;
    this.body = ownBuffer(`{"data":[${markets.join(',')}],"meta":${meta}}`);
    // Weak, since the same tag stands for the compressed forms of the body.
    this.etag = `W/"${hash('sha1', this.body, 'base64url')}"`;
    this.bytes = this.body.length;
  }

  /** The body compressed: at once if it is short, or was compressed before; else as a promise. */
  compress(by: Compression): Buffer | Promise<Buffer> {
    return this.compressed.get(by) ?? this.begin(by);
  }

  private begin(by: Compression): Buffer | Promise<Buffer> {
    const made = compress(by, this.body);
    if (Buffer.isBuffer(made)) return this.keep(by, made);
    const form = made.then((done) => this.keep(by, done));
    this.compressed.set(by, form);
    form.catch(() => this.compressed.delete(by));
    return form;
  }

  private keep(by: Compression, done: Buffer): Buffer {
    // The buffer that zlib returns takes 16 kB, however little is in it.
    const form = ownBuffer(done);
    this.compressed.set(by, form);
    this.bytes += form.length;
    return form;
  }
}
