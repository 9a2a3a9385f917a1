import type { ApiRequest } from './api-request.js';

/**
 * What keeps a browser from making more of an answer than data. Swagger UI, which is a page, has a set of its
 * own; TLS and its HSTS are the proxy's.
 */
export const DATA_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

/** Names and values in turn: what Node sends with the least work. */
export type HeaderList = readonly string[];

function headerList(headers: Readonly<Record<string, string>>): HeaderList {
  const list: string[] = [];
  for (const name in headers) list.push(name, headers[name] ?? '');
  return list;
}

const DATA_HEADER_LIST = headerList(DATA_HEADERS);

/** What every answer carries, with what was added on the way. */
export function answerHeadersOf({ answerHeaders }: ApiRequest): Record<string, string> {
  return { ...DATA_HEADERS, ...answerHeaders };
}

/** The same as a list. */
export function answerHeaderList({ answerHeaders }: ApiRequest): HeaderList {
  return [...DATA_HEADER_LIST, ...headerList(answerHeaders)];
}
