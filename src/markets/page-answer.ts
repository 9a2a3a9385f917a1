import { hash } from 'node:crypto';
import { pageMeta, type PageQuery } from '../http/input/page.js';
import { JsonBody } from './json-body.js';
import { ownBuffer } from './own-buffer.js';

/** The answer to a look-up: one page as JSON, with the tag that changes if and only if its body does. */
export class PageAnswer extends JsonBody {
  readonly items: number;
  readonly etag: string;

  /**
   * @param markets the markets of the page, each as JSON text
   * @param itemCount all that match, on whatever page
   */
  constructor(query: PageQuery, markets: readonly string[], itemCount: number) {
    const meta = JSON.stringify(pageMeta(query, itemCount));
    const body = ownBuffer(`{"data":[${markets.join(',')}],"meta":${meta}}`);
    super([body]);
    this.items = markets.length;
    // Weak, since the same tag stands for the compressed forms of the body.
    this.etag = `W/"${hash('sha1', body, 'base64url')}"`;
  }
}
