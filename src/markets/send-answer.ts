import type { Response } from 'express';
import Negotiator from 'negotiator';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { ApiRequest } from '../http/api-request.js';
import { API_KEY_HEADER } from '../http/credentials.js';
import type { Answer } from './answer.js';

/** Smaller bodies are not worth the work. */
const COMPRESS_FROM_BYTES = 1_024;

const compressors = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

type Encoding = keyof typeof compressors | 'identity';

/** Set earlier only where CORS is set up, which makes the answer depend on the origin, too. */
function caching(response: Response): Record<string, string> {
  const earlier = response.getHeader('Vary');
  const vary = `${API_KEY_HEADER}, Accept-Encoding`;
  return {
    'Cache-Control': 'private, no-cache',
    Vary: earlier === undefined ? vary : `${String(earlier)}, ${vary}`,
  };
}

/** Sends an answer as the client can take it: compressed, or as 304 when it has it already. */
export async function sendAnswer(request: ApiRequest, response: Response, answer: Answer) {
  const headers = { ...caching(response), ETag: answer.etag };
  if (hasAlready(request.headers['if-none-match'], answer.etag)) {
    response.writeHead(304, { ...request.answerHeaders, ...headers }).end();
    return;
  }
  await sendBody(request, response, answer.body, headers);
}

/** Sends a body of JSON, compressed if the client can take it so. */
export async function sendBody(
  request: ApiRequest,
  response: Response,
  json: Buffer,
  headers: Readonly<Record<string, string>>,
) {
  const encoding = negotiate(request, json);
  const body = encoding === 'identity' ? json : await compressors[encoding](json);
  response.writeHead(200, {
    ...request.answerHeaders,
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function negotiate(request: ApiRequest, body: Buffer): Encoding {
  if (body.length < COMPRESS_FROM_BYTES || !request.headers['accept-encoding']) return 'identity';
  const accepted = new Negotiator(request).encoding(['br', 'gzip', 'identity']);
  return (accepted as Encoding | undefined) ?? 'identity';
}

/** RFC 9110, 13.1.2: a list of tags, compared weakly, or `*`. */
function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false;
  if (ifNoneMatch === etag) return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || weak(tag) === weak(etag));
}

function weak(tag: string): string {
  return tag.trim().replace(/^W\//, '');
}
