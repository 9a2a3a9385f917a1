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

/** What every answer carries, to be added to on the way. */
export function answerHeadersOf(requestId: string): Record<string, string> {
  return { ...DATA_HEADERS, 'X-Request-Id': requestId };
}
