/** Ways of asking the same. */
export type Form = 'plain' | 'compressed' | 'HEAD' | 'key in the query';

/** What most HTTP clients send by themselves. */
const ACCEPT = 'Accept-Encoding: gzip, deflate, br\r\n';

/** A whole request: head and empty line. */
export function requestText(target: string, key: string, form: Form, etag?: string): string {
  const method = form === 'HEAD' ? 'HEAD' : 'GET';
  const isInQuery = form === 'key in the query';
  const query = isInQuery ? `${target.includes('?') ? '&' : '?'}api_key=${key}` : '';
  const keyHeader = isInQuery ? '' : `X-API-Key: ${key}\r\n`;
  const accept = form === 'compressed' ? ACCEPT : '';
  const condition = etag ? `If-None-Match: ${etag}\r\n` : '';
  return `${method} ${target}${query} HTTP/1.1\r\nHost: 127.0.0.1\r\n${keyHeader}${accept}${condition}\r\n`;
}
