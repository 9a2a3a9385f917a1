import { MongoClient } from 'mongodb';
import { accessSync, constants, statSync } from 'node:fs';
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
function refuseUnescaped(text: string): void {
  if (!/[\s#]/.test(text)) return;
  throw new SettingFault('must have no line break, no space and no # (escaped: %20, %23)');
}

/** What no name of a database may hold (MongoDB manual, "Naming Restrictions"). */
const NOT_IN_DATABASE_NAMES = /[/\\. "$*<>:|?\0]/;
const DATABASE_NAME_BYTES = 63;
const DATABASES_OF_MONGODB = ['admin', 'config', 'local'];

/** MongoDB refuses each read that allows a secondary to be behind by less. */
const MAX_STALENESS_SECONDS_MIN = 90;

export function mongodbUri(text: string): string {
  refuseUnescaped(text);
  let client: MongoClient;
  try {
    // The driver's own parser decides; nothing connects before `connect()`.
    client = new MongoClient(text);
  } catch {
    throw new SettingFault(
      'must be a MongoDB connection string (mongodb://… or mongodb+srv://…) with options that the driver knows; ' +
        'in a password % @ : / are %25 %40 %3A %2F',
    );
  }
  const { dbName, tlsCAFile, tlsCRLFile, tlsCertificateKeyFile } = client.options;
  const isAllowed =
    Buffer.byteLength(dbName) <= DATABASE_NAME_BYTES &&
    !NOT_IN_DATABASE_NAMES.test(dbName) &&
    !DATABASES_OF_MONGODB.includes(dbName);
  if (!isAllowed) {
    throw new SettingFault(
      'must name a database as MongoDB allows: at most 63 bytes, without . $ / \\ or spaces; ' +
        "admin, config and local are MongoDB's own (a user's database is named by authSource)",
    );
  }
  // Read from the text: the driver keeps it only for a read preference of the URI, and the service has its own.
  const staleness = /[?&]maxStalenessSeconds=(\d+)/i.exec(text)?.[1];
  if (Number(staleness) < MAX_STALENESS_SECONDS_MIN) {
    throw new SettingFault(`must not have maxStalenessSeconds below ${MAX_STALENESS_SECONDS_MIN}`);
  }
  // The driver reads these files when it connects, and would report that the server can't be reached.
  if (![tlsCAFile, tlsCRLFile, tlsCertificateKeyFile].every(isAbsentOrReadable)) {
    throw new SettingFault('must name TLS files that can be read');
  }
  return text;
}

function isAbsentOrReadable(path: string | undefined): boolean {
  try {
    if (!path) return true;
    accessSync(path, constants.R_OK);
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
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
