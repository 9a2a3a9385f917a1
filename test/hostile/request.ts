import type { ProblemCode } from '../../src/http/problem-codes.js';
import type { LOOKUPS } from '../lookups.js';

export interface Expected {
  readonly status: number;
  readonly code?: ProblemCode;
  /** Place and name of each fault. */
  readonly faults?: readonly string[];
  /** What is wrong comes after a head that is good: by then the look-up has begun. */
  readonly inBody?: boolean;
}

/** A request that nobody should send, byte for byte, and what it must be answered with. */
export interface HostileRequest {
  readonly name: string;
  /** One character for each byte; KEYS stand in for keys that the test makes. */
  readonly bytes: string;
  /** One for each answer on the connection. */
  readonly answers: readonly Expected[];
}

/** One of the two look-ups, with the path of an id that nobody has. */
export type Lookup = (typeof LOOKUPS)[number] & { readonly path: string };

/** A key that is good, whose limit is used up, that has expired, is revoked, or that nobody has. */
export const KEYS = ['<key>', '<limited>', '<expired>', '<revoked>', '<unknown>'] as const;

/** In each request's path: no error may echo it. */
export const SENTINEL = 'sentinel-7731';

export const HOST = 'Host: odds.example';
export const GOOD_KEY = 'X-API-Key: <key>';

export const fine: Expected = { status: 200 };
export const unauthorized: Expected = { status: 401, code: 'unauthorized' };
export const ambiguous: Expected = { status: 400, code: 'ambiguous_credentials' };
export const notFound: Expected = { status: 404, code: 'not_found' };
export const notAllowed: Expected = { status: 405, code: 'method_not_allowed' };
export const rateLimited: Expected = { status: 429, code: 'rate_limited' };

/** Refused by its form, before anybody looks at the path. */
export function malformed(status = 400): Expected {
  return { status, code: 'invalid_request' };
}

/** Refused for its input: place and name of each fault. */
export function faulty(...faults: string[]): Expected {
  return { status: 400, code: 'invalid_request', faults };
}

interface Parts {
  readonly method?: string;
  readonly version?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** A request on the wire; HOST and GOOD_KEY are its headers unless others are given. */
export function wire(target: string, parts: Parts = {}): string {
  const { method = 'GET', version = 'HTTP/1.1', headers = [HOST, GOOD_KEY], body = '' } = parts;
  return [`${method} ${target} ${version}`, ...headers, '', body].join('\r\n');
}

/** Text as the bytes of its UTF-8 form. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Bytes fit for the name of a test. */
export function printed(bytes: string): string {
  return JSON.stringify(bytes.length > 60 ? `${bytes.slice(0, 57)}…` : bytes).slice(1, -1);
}

/** Texts without white space, written one after the other. */
export function words(text: string): string[] {
  return text.split(' ');
}
