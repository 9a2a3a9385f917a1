import { DBRef, type Document, type MongoClientOptions } from 'mongodb';

/** The database when the URI's path names none. */
const DEFAULT_DATABASE = 'markets-odds';

/**
 * How replies are decoded. Markets are written by others, too: neither a broken string nor a regular expression that
 * JavaScript does not know may hide a whole page or end the change feed. `db.command` does not inherit it: pass it on.
 */
export const DECODING = {
  enableUtf8Validation: false,
  bsonRegExp: true,
  // The driver's defaults, whatever the connection string says.
  promoteBuffers: false,
  promoteLongs: true,
  promoteValues: true,
  raw: false,
  useBigInt64: false,
} as const;

/** A document's own fields. Of one with `$ref` and `$id` the driver makes a `DBRef`, which keeps the others apart. */
export function plainDocument(decoded: Document): Document {
  return decoded instanceof DBRef ? decoded.fields : decoded;
}

/**
 * How the driver is set up for a service that answers within two seconds, or says that it can't.
 * `timeoutMS` has no effect in this driver: each stage has its own bound.
 */
export const DRIVER_OPTIONS = {
  appName: 'markets-odds-service',
  readPreference: 'primaryPreferred',
  readConcernLevel: 'local',
  maxPoolSize: 32,
  // Opened beforehand: each takes some round trips, which are long where MongoDB is far.
  minPoolSize: 8,
  // A server that hangs is known as such after connectTimeoutMS + heartbeatFrequencyMS.
  heartbeatFrequencyMS: 500,
  // A server that was lost is not asked again before this.
  minHeartbeatFrequencyMS: 500,
  connectTimeoutMS: 1_000,
  serverSelectionTimeoutMS: 1_000,
  // Reads have slots, so hardly one waits for the connection of another; it may wait for one that is being opened,
  // which with TLS and a password takes six round trips.
  waitQueueTimeoutMS: 1_500,
  checkKeys: false,
  ...DECODING,
} as const satisfies MongoClientOptions;

/** The database that a connection string names, or the default. */
export function databaseName(uri: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/?]+\/([^?]+)/.exec(uri)?.[1];
  return path ? decodeURIComponent(path) : DEFAULT_DATABASE;
}

/** Compares strings exactly, whatever a collection's own collation is. */
export const EXACT_COLLATION = { locale: 'simple' } as const;

/**
 * For keys and markets, whatever the connection string says. What a primary alone has may be lost with it: a key that
 * was revoked would be good again.
 */
export const BY_MAJORITY = { writeConcern: { w: 'majority' } } as const;
