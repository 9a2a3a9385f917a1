import { isIP } from 'node:net';

/** Says what a value must be; never what it was, since it may be a secret. */
export class SettingFault extends Error {}

export type Parse<T> = (text: string) => T;

export function wholeNumber(minimum: number, maximum: number): Parse<number> {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new SettingFault(`must be a whole number from ${minimum} to ${maximum}`);
  };
}

export function oneOf<const T extends string>(...values: T[]): Parse<T> {
  return (text) => {
    const value = values.find((allowed) => allowed === text);
    if (value !== undefined) return value;
    throw new SettingFault(`must be one of ${values.join(', ')}`);
  };
}

export function boolean(text: string): boolean {
  return oneOf('true', 'false')(text) === 'true';
}

/** A host name has a letter or `_`: digits and dots alone can only be an address. */
const HOST_NAME = /^(?=.*[a-z_])[a-z0-9_][a-z0-9._-]*$/i;

export function host(text: string): string {
  if (isIP(text) || HOST_NAME.test(text)) return text;
  throw new SettingFault('must be an IP address or the name of a host');
}

/** URL parsers disagree about these characters: some cut the text there, others read on. */
export function refuseUnescaped(text: string): void {
  if (!/[\s#]/.test(text)) return;
  throw new SettingFault('must have no line break, no space and no # (escaped: %20, %23)');
}

export function redisUrl(text: string): string {
  refuseUnescaped(text);
  try {
    const { protocol, username, password, hostname, pathname, searchParams } = new URL(text);
    decodeURIComponent(`${username}:${password}`);
    const isRedis = protocol === 'redis:' || protocol === 'rediss:';
    // The client would take any other parameter for an option of its own.
    const isPlain = [...searchParams.keys()].every((name) => name === 'family');
    if (hostname && isRedis && isPlain && /^(\/\d*)?$/.test(pathname)) return text;
  } catch {
    // The text is no URL, or its user or password is not escaped.
  }
  throw new SettingFault(
    'must be a Redis URL, such as redis://host:6379/0 or rediss://host (escaped: % is %25)',
  );
}

/** No part of an origin can be `*`: browsers send whole ones, which are compared as they are. */
function isOrigin(text: string): boolean {
  return !text.includes('*') && URL.canParse(text) && new URL(text).origin === text;
}

export function origins(text: string): readonly string[] {
  const all = text.split(',').map((origin) => origin.trim());
  if (text.trim() === '*' || all.every(isOrigin)) return all;
  throw new SettingFault('must be origins such as https://example.com, separated by commas, or *');
}
