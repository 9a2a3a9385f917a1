import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  MongoError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
  type ClientSession,
  type ClusterTime,
  type Db,
  type MongoClient,
  type MongoClientOptions,
  type ServerDescription,
  type Timestamp,
  type TopologyDescription,
} from 'mongodb';
import mongoose, { type Connection } from 'mongoose';
import { setTimeout as delay } from 'node:timers/promises';
import { Config } from '../config.js';
import { overloaded } from '../http/overload/overloaded.js';
import { Problem } from '../http/problem.js';
import { LogThrottle } from '../common/log-throttle.js';
import { ReadSlots } from './read-slots.js';

/** Unknown paths in a Mongoose query are a programming error, never an empty or a full answer. */
mongoose.set('strictQuery', 'throw');

/** The database when the URI's path names none. */
const DEFAULT_DATABASE = 'markets-odds';

/**
 * How the driver is set up for a service that answers within two seconds, or says that it can't.
 * `timeoutMS` has no effect in this driver: each stage has its own bound.
 */
export const DRIVER_OPTIONS = {
  appName: 'markets-odds-service',
  readPreference: 'primaryPreferred',
  maxPoolSize: 32,
  // Opened beforehand: each takes some round trips, which are long where MongoDB is far.
  minPoolSize: 8,
  // A server that hangs is known as such after connectTimeoutMS + heartbeatFrequencyMS.
  heartbeatFrequencyMS: 500,
  connectTimeoutMS: 1_000,
  serverSelectionTimeoutMS: 1_000,
  // Reads have slots of their own: who waits here waits for a connection that is being opened.
  waitQueueTimeoutMS: 500,
  // Markets are written by others, too: one broken string must not hide a whole page.
  enableUtf8Validation: false,
} as const satisfies MongoClientOptions;

/** Mongoose makes nothing by itself and queues nothing for later. */
const MONGOOSE_OPTIONS = { autoCreate: false, autoIndex: false, bufferCommands: false };

/** How long a read may take in all, in milliseconds. One request makes at most one of each. */
export const READ_BUDGET_MS = { key: 500, book: 400, markets: 900, pagesTogether: 300 } as const;

/** The server gives up this long before we do, so that a slow query keeps its connection. */
const SERVER_GIVES_UP_EARLIER_MS = 150;

/** QueryPlanKilled, SnapshotTooOld, SnapshotUnavailable, NotWritablePrimary, InterruptedAtShutdown, PrimarySteppedDown and their like. */
const RETRYABLE_CODES = new Set([
  175, 239, 246, 6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
]);

const RECONNECT_AFTER_MS = 250;
const RETRY_AFTER_SECONDS = '1';
const MAX_TIME_MS_EXPIRED = 50;
const WIRE_VERSION_5_0 = 13;
const READABLE_SERVERS = new Set([
  'RSPrimary',
  'RSSecondary',
  'Standalone',
  'Mongos',
  'LoadBalancer',
]);

export interface ReadOptions {
  readonly maxTimeMS: number;
  readonly signal: AbortSignal;
  readonly session?: ClientSession;
}

/** A point in time that reads must not fall behind: callers may have seen what was true then. */
export interface ReadAfterTime {
  readonly operationTime: Timestamp;
  readonly clusterTime: ClusterTime;
}

/** The connection to MongoDB: it never gives up, and no read outlives its budget. */
@Injectable()
export class Database implements OnApplicationShutdown {
  readonly connection: Connection = mongoose.createConnection();
  private readonly logger = new Logger(Database.name);
  private topology: TopologyDescription | undefined;
  private closed = false;
  private readonly refusals = new LogThrottle(1_000);
  private readonly slots = new ReadSlots(DRIVER_OPTIONS.maxPoolSize);

  /** Set by the change feed. A secondary that reads in place of a lost primary waits until it has got there. */
  horizon: ReadAfterTime | undefined;
  private readonly clientListeners: ((client: MongoClient) => void)[] = [];

  constructor(private readonly config: Config) {
    // Not by `set()`, which keeps them elsewhere. Collections and indexes are DatabaseInit's alone.
    Object.assign(this.connection.config, MONGOOSE_OPTIONS);
  }

  /** Calls back with each of the driver's clients before it connects: after a failure there is another. */
  onClient(listener: (client: MongoClient) => void): void {
    this.clientListeners.push(listener);
  }

  /** The database itself, in the driver's words. */
  get db(): Db {
    if (!this.connection.db) throw unavailable();
    return this.connection.db;
  }

  /** Whether some server can be read, as far as the driver's monitors know. */
  get readable(): boolean {
    return this.servers.some(({ type }) => READABLE_SERVERS.has(type));
  }

  /** Whether a read can be of one point in time: not on a standalone server, nor before MongoDB 5.0. */
  get hasSnapshots(): boolean {
    return this.servers.every(
      ({ type, maxWireVersion }) =>
        type === 'Unknown' || (type !== 'Standalone' && maxWireVersion >= WIRE_VERSION_5_0),
    );
  }

  private get hasPrimary(): boolean {
    return this.topology?.type !== 'ReplicaSetNoPrimary';
  }

  private sessionFromReadAfterTime(): ClientSession | undefined {
    if (!this.horizon) return undefined;
    const session = this.connection.getClient().startSession({ causalConsistency: true });
    session.advanceClusterTime(this.horizon.clusterTime);
    session.advanceOperationTime(this.horizon.operationTime);
    return session;
  }

  private get servers(): ServerDescription[] {
    return [...(this.topology?.servers.values() ?? [])];
  }

  /** Connects once: for commands, which fail rather than wait. */
  async connect(): Promise<void> {
    const uri = this.config.mongodbUri;
    if (!uri) throw new Error('No MongoDB URI');
    const opening = this.connection.openUri(uri, { ...DRIVER_OPTIONS, dbName: databaseName(uri) });
    // The client is there before it connects: its first descriptions must not be missed.
    const client = this.connection.getClient();
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      this.topology = newDescription;
    });
    for (const listener of this.clientListeners) listener(client);
    await opening;
  }

  /** Connects however long it takes: for the server, which answers 503 in the meantime. */
  async connectEventually(): Promise<void> {
    let lastFailure = '';
    while (!this.closed) {
      try {
        return await this.connect();
      } catch (error) {
        // The driver has waited already; a driver's message holds hosts, but never credentials.
        const failure = error instanceof Error ? error.message : 'unknown';
        if (failure !== lastFailure) this.tellFailure(failure, error);
        lastFailure = failure;
        await delay(RECONNECT_AFTER_MS);
      }
    }
  }

  /**
   * Runs one read.
   * @param budgetMs time for all of it, in milliseconds
   * @throws Problem `database_unavailable`, `database_timeout` or `overloaded`
   */
  async read<T>(budgetMs: number, operation: (options: ReadOptions) => Promise<T>): Promise<T> {
    if (!this.readable) throw unavailable();
    const serverMs = budgetMs - SERVER_GIVES_UP_EARLIER_MS;
    return this.slots.run(serverMs, (waitedMs) =>
      this.readWithin(budgetMs - waitedMs, serverMs - waitedMs, operation),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    await this.connection.close(true);
  }

  private async readWithin<T>(
    ownMs: number,
    serverMs: number,
    operation: (options: ReadOptions) => Promise<T>,
  ): Promise<T> {
    const session = this.hasPrimary ? undefined : this.sessionFromReadAfterTime();
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(this.readable ? timeout() : unavailable());
        abort.abort();
      }, ownMs);
    });
    const maxTimeMS = Math.ceil(serverMs);
    const options = { maxTimeMS, signal: abort.signal, ...(session && { session }) };
    try {
      return await Promise.race([this.tryTwice(() => operation(options)), tooLate]);
    } catch (error) {
      throw this.problemOf(error);
    } finally {
      clearTimeout(timer);
      await session?.endSession();
    }
  }

  /** A server that steps down or dies under a read is no reason to fail: another is asked, once. */
  private async tryTwice<T>(operation: () => Promise<T>): Promise<T> {
    try {
      return await operation();
    } catch (error) {
      if (!isWorthRetry(error) || !this.readable) throw error;
      return operation();
    }
  }

  /** A server that is away may come back; one that refuses us, a wrong password for one, needs somebody. */
  private tellFailure(failure: string, error: unknown): void {
    if (error instanceof MongoServerError) this.logger.error(`MongoDB refuses us: ${failure}`);
    else this.logger.warn(`MongoDB can't be reached: ${failure}`);
  }

  private warnOfRefusal({ codeName, code }: MongoServerError): void {
    const count = this.refusals.count();
    if (count === undefined) return;
    this.logger.error({ count }, `MongoDB refuses reads: ${codeName ?? code}`);
  }

  private problemOf(error: unknown): unknown {
    if (isBrokenSocket(error)) return unavailable();
    if (!(error instanceof MongoError) && !(error instanceof mongoose.Error)) return error;
    if (error.name === 'MongoWaitQueueTimeoutError') return overloaded();
    if (error instanceof MongoNetworkTimeoutError) return timeout();
    if (error instanceof MongoServerError) {
      if (error.code === MAX_TIME_MS_EXPIRED) return timeout();
      this.warnOfRefusal(error);
    }
    return unavailable();
  }
}

/** The driver passes on what a socket says when its server dies just as a command is written. */
function isBrokenSocket(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'EPIPE' || code === 'ECONNRESET';
}

/** Errors of the retryable reads specification: the server went away, or is none that may be read now. */
function isWorthRetry(error: unknown): boolean {
  if (isBrokenSocket(error)) return true;
  if (error instanceof MongoNetworkError) return !(error instanceof MongoNetworkTimeoutError);
  if (!(error instanceof MongoError)) return false;
  return error.hasErrorLabel('RetryableReadError') || RETRYABLE_CODES.has(Number(error.code));
}

/** The database that a connection string names, or the default. */
export function databaseName(uri: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(uri)?.[1];
  return path ? decodeURIComponent(path) : DEFAULT_DATABASE;
}

function unavailable(): Problem {
  return new Problem('database_unavailable', 'The database cannot be reached. Please try again.', {
    headers: { 'Retry-After': RETRY_AFTER_SECONDS },
  });
}

function timeout(): Problem {
  return new Problem('database_timeout', 'The database did not answer in time. Please try again.');
}
