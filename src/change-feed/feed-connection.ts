import {
  MongoClient,
  MongoServerSelectionError,
  ReadPreference,
  type Db,
  type MongoClientOptions,
} from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseName, DRIVER_OPTIONS } from '../database/driver-options.js';
import { isLoggedOut } from '../database/mongo-errors.js';
import { refuseMongos } from './followable.js';

const RETRY_AFTER_MS = 500;

/** A server that hangs is given up after this, so that another can be asked. Milliseconds. */
const SOCKET_TIMEOUT_MS = 2_000;

const OPTIONS: MongoClientOptions = {
  ...DRIVER_OPTIONS,
  // As an object it takes nothing from the URI: by its name, it clashes with `maxStalenessSeconds` there.
  readPreference: ReadPreference.primary,
  minPoolSize: 0,
  maxPoolSize: 2,
  socketTimeoutMS: SOCKET_TIMEOUT_MS,
};

/**
 * Follows a database on a connection of its own, so that load on other connections can't delay it. After a failure it
 * tries again.
 * @param signal ends it
 */
export async function followWithReconnect(
  uri: string,
  follow: (db: Db) => Promise<void>,
  failed: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  let client: MongoClient | undefined;
  // Closing the client ends whatever waits for MongoDB.
  signal.addEventListener('abort', () => void client?.close().catch(() => undefined));
  while (!signal.aborted) {
    try {
      // A client whose first connection fails is of no more use: it is kept once it is connected.
      client ??= await new MongoClient(uri, OPTIONS).connect();
      const db = client.db(databaseName(uri));
      await refuseMongos(db);
      await follow(db);
    } catch (error) {
      if (signal.aborted) break;
      failed(error);
      // Where it finds no server it may have forgotten those of the URI, for good.
      if (isLoggedOut(error) || error instanceof MongoServerSelectionError) {
        await client?.close();
        client = undefined;
      }
      await delay(RETRY_AFTER_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  // The client may have connected after the signal.
  await client?.close();
}
