import type { MongoClientOptions } from 'mongodb';
import mongoose, { type Connection } from 'mongoose';
import { databaseName, DRIVER_OPTIONS } from './driver-options.js';

/** Unknown paths in a Mongoose query are a programming error, never an empty or a full answer. */
mongoose.set('strictQuery', 'throw');

/** Mongoose makes nothing by itself and queues nothing for later. */
const MONGOOSE_OPTIONS = { autoCreate: false, autoIndex: false, bufferCommands: false };

export function newConnection(): Connection {
  const connection = mongoose.createConnection();
  // Not by `set()`, which stores them elsewhere. Only initDatabase makes collections and indexes.
  Object.assign(connection.config, MONGOOSE_OPTIONS);
  return connection;
}

/** Connects once. The connection has its client when this returns, before it is connected. */
export function openConnection(
  connection: Connection,
  uri: string,
  options: MongoClientOptions = {},
): Promise<Connection> {
  return connection.openUri(uri, { ...DRIVER_OPTIONS, dbName: databaseName(uri), ...options });
}
