import type { Response } from 'express';
import { pipeline, Readable } from 'node:stream';
import type { ApiRequest } from '../http/api-request.js';
import { API_KEY_HEADER } from '../http/credentials.js';
import type { HeaderList } from '../http/response-headers.js';
import type { Answer } from './answer.js';
import { chooseEncoding } from './choose-encoding.js';
import { compressors, lengthOf, type JsonBody } from './json-body.js';

/** Longer bodies are compressed as the client reads: many at a time would not fit into memory whole. */
const COMPRESS_WHOLE_BYTES_MAX = 1_024 * 1_024;

const VARY = `${API_KEY_HEADER}, Accept-Encoding`;

/** `Vary` is set already where CORS is set up, which makes the answer depend on the origin, too. */
function varyOf(response: Response): string {
  const earlier = response.getHeader('Vary');
  return earlier === undefined ? VARY : `${String(earlier)}, ${VARY}`;
}

/** Sends an answer as the client can take it: compressed, or as 304 when it has it already. */
export function sendAnswer(request: ApiRequest, response: Response, answer: Answer): void {
  const { etag } = answer;
  const headers = ['Cache-Control', 'private, no-cache', 'Vary', varyOf(response), 'ETag', etag];
  if (hasAlready(request.headers['if-none-match'] ?? '', etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  sendBody(request, response, answer, headers);
}

/** Sends a body of JSON, compressed if the client can take it so. */
export function sendBody(
  request: ApiRequest,
  response: Response,
  json: JsonBody,
  headers: HeaderList,
): void {
  const encoding = chooseEncoding(request, json);
  const encodedHeaders = [...headers, 'Content-Encoding', encoding];
  if (encoding === 'identity') {
    write(response, json.parts, headers);
  } else if (json.length <= COMPRESS_WHOLE_BYTES_MAX) {
    write(response, [json.compress(encoding)], encodedHeaders);
  } else {
    writeHead(response, encodedHeaders);
    const compressor = compressors[encoding].pieceByPiece();
    // A client that leaves in its midst is no failure, and a cut answer can't be mended.
    pipeline(Readable.from(json.parts), compressor, response, () => undefined);
  }
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
