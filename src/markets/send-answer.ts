import type { Response } from 'express';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ApiRequest } from '../http/api-request.js';
import { API_KEY_HEADER } from '../http/credentials.js';
import { answerHeaderList, type HeaderList } from '../http/response-headers.js';
import type { Answer } from './answer.js';
import { compressing, lengthOf, type Compression, type JsonBody } from './json-body.js';

/** Smaller bodies are not worth the work. */
const COMPRESS_FROM_BYTES = 1_024;

/** Longer bodies are compressed as the client reads: many at a time would not fit into memory whole. */
const COMPRESS_WHOLE_BYTES_MAX = 1_024 * 1_024;

/** Longer lists of encodings are no browser's: parsing them takes milliseconds. */
const ACCEPTED_LENGTH_MAX = 256;

const VARY = `${API_KEY_HEADER}, Accept-Encoding`;

/** The order of encodings that a client accepts equally: most clients name gzip first without preferring it. */
const PREFERRED: readonly Compression[] = ['br', 'gzip'];

/** The types of the package lack this option. */
type WithPreference = Negotiator & {
  encoding(
    available: readonly string[],
    options: { preferred: readonly string[] },
  ): string | undefined;
};

/** By `Accept-Encoding`, of which few different values are ever sent. */
const choices = new LRUCache<string, Compression | 'identity'>({ max: 200 });

/** `Vary` is set already where CORS is set up, which makes the answer depend on the origin, too. */
function varyOf(response: Response): string {
  const earlier = response.getHeader('Vary');
  return earlier === undefined ? VARY : `${String(earlier)}, ${VARY}`;
}

/**
 * Sends an answer as the client can take it: compressed, or as 304 when it has it already.
 * @returns a promise only where something has to be compressed first
 */
export function sendAnswer(
  request: ApiRequest,
  response: Response,
  answer: Answer,
): void | Promise<void> {
  const { etag } = answer;
  const headers = ['Cache-Control', 'private, no-cache', 'Vary', varyOf(response), 'ETag', etag];
  if (hasAlready(request.headers['if-none-match'], etag)) {
    response.writeHead(304, [...answerHeaderList(request), ...headers]).end();
    return;
  }
  return sendBody(request, response, answer, headers);
}

/** Sends a body of JSON, compressed if the client can take it so. */
export function sendBody(
  request: ApiRequest,
  response: Response,
  json: JsonBody,
  headers: HeaderList,
): void | Promise<void> {
  const encoding = negotiate(request, json);
  if (encoding === 'identity') return write(request, response, json.parts, headers);
  const encodedHeaders = [...headers, 'Content-Encoding', encoding];
  if (json.length > COMPRESS_WHOLE_BYTES_MAX) {
    writeHead(request, response, encodedHeaders);
    if (request.method === 'HEAD') return void response.end();
    // A client that leaves in its midst is no failure, and a cut answer can't be mended.
    return pipeline(Readable.from(json.parts), compressing[encoding](), response).catch(() => {});
  }
  const body = json.compress(encoding);
  if (Buffer.isBuffer(body)) return write(request, response, [body], encodedHeaders);
  return body.then((done) => write(request, response, [done], encodedHeaders));
}

function write(
  request: ApiRequest,
  response: Response,
  parts: readonly Buffer[],
  headers: HeaderList,
): void {
  writeHead(request, response, [...headers, 'Content-Length', String(lengthOf(parts))]);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  for (const part of parts.slice(0, -1)) response.write(part);
  response.end(parts.at(-1));
}

function writeHead(request: ApiRequest, response: Response, headers: HeaderList): void {
  const type = ['Content-Type', 'application/json; charset=utf-8'];
  response.writeHead(200, [...answerHeaderList(request), ...type, ...headers]);
}

function negotiate({ headers }: ApiRequest, { length }: JsonBody): Compression | 'identity' {
  const accepted = headers['accept-encoding'];
  if (length < COMPRESS_FROM_BYTES || !accepted || accepted.length > ACCEPTED_LENGTH_MAX) {
    return 'identity';
  }
  const known = choices.get(accepted);
  if (known) return known;
  const negotiator = new Negotiator({ headers }) as WithPreference;
  const preferred = negotiator.encoding([...PREFERRED, 'identity'], { preferred: PREFERRED });
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
