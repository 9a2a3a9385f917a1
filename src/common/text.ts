import { isIPv6 } from 'node:net';

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Where a host has several addresses, Node tells why each of them failed, and nothing of the whole.
  if (error instanceof AggregateError && !error.message) return messageOf(error.errors[0]);
  // Some of MongoDB's messages repeat the whole command, with all that was to be written: its name is enough.
  const brief = error.message.replace(/( to execute command )\W*(\w*).*/s, '$1$2');
  // The driver tells how long it took: the same failure is to be told once.
  return brief.replace(/ timed out after \d+ ?ms/, ' timed out');
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text that came from outside, fit for a terminal: no control, format or separator characters, not endless. */
export function printable(text: string, longest = 200): string {
  const clean = text.replace(UNPRINTABLE, '');
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
}

/** Like `printable`, for a text of several lines and of any length. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (character) => (character === '\n' ? character : ''));
}

/** JSON of ASCII alone: nothing in it is what a terminal could obey. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A host and its port as in a URL: an IPv6 address stands in brackets (RFC 3986, 3.2.2). */
export function hostAndPort(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
