import type { Response } from 'express';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { ApiRequest } from '../http/api-request.js';
import { API_KEY_HEADER } from '../http/credentials.js';
import type { Answer } from './answer.js';
import type { Compression, JsonBody } from './json-body.js';

/** Smaller bodies are not worth the work. */
const COMPRESS_FROM_BYTES = 1_024;

/** Longer lists of encodings are no browser's: parsing them takes milliseconds. */
const ACCEPTED_LENGTH_MAX = 256;

/** Few different ones are ever sent. */
const choices = new LRUCache<string, Compression | 'identity'>({ max: 200 });

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
export async function sendAnswer(
  request: ApiRequest,
  response: Response,
  answer: Answer,
): Promise<void> {
  const headers = { ...caching(response), ETag: answer.etag };
  if (hasAlready(request.headers['if-none-match'], answer.etag)) {
    response.writeHead(304, { ...request.answerHeaders, ...headers }).end();
    return;
  }
  await sendBody(request, response, answer, headers);
}

/** Sends a body of JSON, compressed if the client can take it so. */
export async function sendBody(
  request: ApiRequest,
  response: Response,
  json: JsonBody,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const encoding = negotiate(request, json);
  const encoded = encoding === 'identity' ? json.body : json.compress(encoding);
  // Without a wait where none is needed.
  const body = Buffer.isBuffer(encoded) ? encoded : await encoded;
  response.writeHead(200, {
    ...request.answerHeaders,
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function negotiate({ headers }: ApiRequest, { body }: JsonBody): Compression | 'identity' {
  const accepted = headers['accept-encoding'];
  if (body.length < COMPRESS_FROM_BYTES || !accepted || accepted.length > ACCEPTED_LENGTH_MAX) {
    return 'identity';
  }
  const known = choices.get(accepted);
  if (known) return known;
  const preferred = new Negotiator({ headers }).encoding(['br', 'gzip', 'identity']);
  const choice = (preferred as Compression | undefined) ?? 'identity';
  choices.set(accepted, choice);
  return choice;
}

/** RFC 9110, 13.1.2: a list of tags, compared weakly, or `*`. No tag holds a quotation mark, and ours no comma. */
function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false;
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.includes(etag.slice(etag.indexOf('"')));
}
