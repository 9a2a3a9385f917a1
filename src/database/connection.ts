import type { Db, MongoClientOptions } from 'mongodb';
import type { Connection } from 'mongoose';
import { databaseName, DRIVER_OPTIONS } from './driver-options.js';

/** Mongoose queues nothing for later and makes nothing: only initDatabase makes collections and indexes. */
const MONGOOSE_OPTIONS = { autoCreate: false, autoIndex: false, bufferCommands: false };

/** Connects once. The connection has its client when this returns, before it is connected. */
export function openConnection(
  connection: Connection,
  uri: string,
  options: MongoClientOptions = {},
): Promise<Connection> {
  const dbName = databaseName(uri);
  return connection.openUri(uri, { ...DRIVER_OPTIONS, ...MONGOOSE_OPTIONS, dbName, ...options });
}

/** @throws Error before the connection was opened */
export function dbOf({ db }: Connection): Db {
  if (!db) throw new Error('not connected to MongoDB');
  return db;
}
