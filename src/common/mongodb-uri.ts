import { MongoClient, type MongoOptions } from 'mongodb';
import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as zlib from 'node:zlib';
import { refuseUnescaped, SettingFault } from './setting-rules.js';

/** What no name of a database may hold (MongoDB manual, "Naming Restrictions"). */
const NOT_IN_DATABASE_NAMES = /[/\\. "$*<>:|?\0]/;
const DATABASE_NAME_BYTES = 63;
const DATABASES_OF_MONGODB = ['admin', 'config', 'local'];

/** MongoDB refuses each read that allows a secondary to be behind by less. */
const MAX_STALENESS_SECONDS_MIN = 90;

export function mongodbUri(text: string): string {
  refuseUnescaped(text);
  const options = parsed(text);
  if (!options || options.hosts.some(({ host }) => host === '')) {
    throw new SettingFault(
      'must be a MongoDB connection string (mongodb://… or mongodb+srv://…) with options that the driver knows; ' +
        'in a password % @ : / are %25 %40 %3A %2F',
    );
  }
  const { dbName, tlsCAFile, tlsCRLFile, tlsCertificateKeyFile, writeConcern } = options;
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
  if (writeConcern?.w === 0) {
    throw new SettingFault('must not have w=0: nobody would know whether indexes were made');
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
  const missing = packagesFor(options).filter((name) => !isInstalled(name));
  if (missing.length > 0) {
    const names = missing.join(', ');
    throw new SettingFault(`must not have options that need what is not installed: ${names}`);
  }
  return text;
}

/** By the driver's own parser; nothing connects before `connect()`. */
function parsed(text: string): MongoOptions | undefined {
  try {
    return new MongoClient(text).options;
  } catch {
    return undefined;
  }
}

/** The packages that the driver loads for some options, and would miss only when it connects. */
function packagesFor({ compressors, credentials, proxyHost }: MongoOptions): string[] {
  const needed = {
    snappy: compressors.includes('snappy'),
    '@mongodb-js/zstd': compressors.includes('zstd') && !('zstdCompress' in zlib),
    socks: proxyHost !== undefined,
    kerberos: credentials?.mechanism === 'GSSAPI',
    '@aws-sdk/credential-providers': credentials?.mechanism === 'MONGODB-AWS',
  };
  return Object.entries(needed).flatMap(([name, isNeeded]) => (isNeeded ? name : []));
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
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
