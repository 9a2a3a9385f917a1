import type { Response } from 'express';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ApiRequest } from '../http/api-request.js';
import { API_KEY_HEADER } from '../http/credentials.js';
import type { HeaderList } from '../http/response-headers.js';
import type { PageAnswer } from './page-answer.js';
import { chooseEncoding } from './choose-encoding.js';
import { compress, compressors, lengthOf } from './compression.js';

/**
 * Longer bodies of many pieces are compressed as the client reads: copied together, many at a time would not fit into
 * memory.
 */
const COPY_BYTES_MAX = 1_024 * 1_024;

const VARY = `${API_KEY_HEADER}, Accept-Encoding`;

/** `Vary` is set already where CORS is set up, which makes the answer depend on the origin, too. */
function varyOf(response: Response): string {
  const earlier = response.getHeader('Vary');
  return earlier === undefined ? VARY : `${String(earlier)}, ${VARY}`;
}

/**
 * Sends a page with its tag, compressed if the client can take it so; as 304 when the client has it already.
 * @returns a promise where another thread has to compress it first
 */
export function sendPage(
  request: ApiRequest,
  response: Response,
  answer: PageAnswer,
): void | Promise<void> {
  const { etag } = answer;
  const headers = ['Cache-Control', 'private, no-cache', 'Vary', varyOf(response), 'ETag', etag];
  if (hasAlready(request.headers['if-none-match'] ?? '', etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  const encoding = chooseEncoding(request, answer.body.length);
  if (encoding === 'identity') return write(response, [answer.body], headers);
  const body = answer.compress(encoding);
  headers.push('Content-Encoding', encoding);
  if (Buffer.isBuffer(body)) return write(response, [body], headers);
  return body.then((done) => write(response, [done], headers));
}

/** Sends a body of JSON that is made for one request, piece by piece, compressed if the client can take it so. */
export async function sendBody(
  request: ApiRequest,
  response: Response,
  parts: readonly Buffer[],
  headers: string[],
): Promise<void> {
  const length = lengthOf(parts);
  const encoding = chooseEncoding(request, length);
  if (encoding === 'identity') return write(response, parts, headers);
  headers.push('Content-Encoding', encoding);
  if (length <= COPY_BYTES_MAX)
    return write(response, [await compress(encoding, Buffer.concat(parts))], headers);
  writeHead(response, headers);
  if (request.method === 'HEAD') return void response.end();
  // It is no failure that a client leaves before the end, and a body that has begun can't become an error.
  const compressor = compressors[encoding].pieceByPiece();
  await pipeline(Readable.from(parts), compressor, response).catch(() => {});
}

function write(response: Response, parts: readonly Buffer[], headers: HeaderList): void {
  writeHead(response, [...headers, 'Content-Length', String(lengthOf(parts))]);
  for (const part of parts.slice(0, -1)) response.write(part);
  response.end(parts.at(-1));
}

function writeHead(response: Response, headers: HeaderList): void {
  response.writeHead(200, ['Content-Type', 'application/json; charset=utf-8', ...headers]);
}

/** RFC 9110, 13.1.2: a list of tags, compared weakly, or `*`. No tag holds a quotation mark, and ours no comma. */
function hasAlready(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.trim() === '*' || ifNoneMatch.includes(etag.slice(etag.indexOf('"')));
}
