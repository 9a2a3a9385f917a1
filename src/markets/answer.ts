import { hash } from 'node:crypto';
import { pageMeta, type PageQuery } from '../http/input/page.js';

/** The finished body of an answer, with the tag that changes if and only if the body does. */
export interface Answer {
  readonly body: Buffer;
  readonly etag: string;
  readonly items: number;
}

/**
 * Puts a page together.
 * @param markets the markets of the page, each as JSON text
 * @param itemCount all that match, on whatever page
 */
export function answerOf(query: PageQuery, markets: readonly string[], itemCount: number): Answer {
  const meta = JSON.stringify(pageMeta(query, itemCount));
  const body = Buffer.from(`{"data":[${markets.join(',')}],"meta":${meta}}`);
  // Weak, since the same tag stands for the compressed forms of the body.
  const etag = `W/"${hash('sha1', body, 'base64url')}"`;
  return { body, etag, items: markets.length };
}
