import { isUtf8 } from 'node:buffer';
import type { RawQuery } from './api-request.js';

/** Characters that no request target may hold (RFC 3986); Node's parser accepts some of them. */
export const NOT_IN_A_TARGET = /[^\u0021-\u007e]|#/;

/** A text that needs no decoding. Nearly all are so, and a query may have thousands. */
const PLAIN = /^[\w.:-]*$/;

const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const ESCAPE = /%(..)/g;

/** The path of a request target. */
export function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end < 0 ? target : target.slice(0, end);
}

/** The path with `%` encoded once more: Express then decodes to what was sent, and never fails on a broken encoding. */
export function routablePath(target: string): string {
  return pathOf(target).replaceAll('%', '%25');
}

/** Reads what follows the `?` of a request target. */
export function readQuery(target: string): RawQuery {
  const query = target.slice(pathOf(target).length + 1);
  const parts = query.split('&').filter((part) => part !== '');
  return parts.map((part) => {
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = decode(equals < 0 ? '' : part.slice(equals + 1));
    if (name === undefined) return [part, '', 'name'];
    return value === undefined ? [name, part.slice(equals + 1), 'value'] : [name, value];
  });
}

/** Undefined where it is broken. `decodeURIComponent` throws there: thousands of parts of a query would take 50 ms. */
function decode(text: string): string | undefined {
  if (PLAIN.test(text)) return text;
  if (NOT_IN_A_TARGET.test(text) || BROKEN_ESCAPE.test(text)) return undefined;
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  const unescaped = spaced.replace(ESCAPE, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  const bytes = Buffer.from(unescaped, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}
