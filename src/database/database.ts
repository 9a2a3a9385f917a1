import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { MongoServerError, type Db, type MongoClient } from 'mongodb';
import { createConnection, type Connection } from 'mongoose';
import { setTimeout as delay } from 'node:timers/promises';
import { SLOW_CONNECTION, tellIfSlow } from '../common/tell-if-slow.js';
import { Config } from '../config.js';
import { BoundedReads } from './bounded-reads.js';
import { openConnection } from './connection.js';
import { DRIVER_OPTIONS } from './driver-options.js';
import { missingIndexes } from './indexes.js';
import { initDatabase } from './init.js';
import { whyNotConnected } from './mongo-errors.js';
import type { ReadAttempt } from './read-attempt.js';
import { databaseUnavailable } from './read-errors.js';
import { Topology } from './topology.js';

/** The pause after a failed attempt to connect. Milliseconds. */
const RECONNECT_AFTER_MS = 250;

/** When no server has been known for so long, the hosts of the URI are asked by a new client. Milliseconds. */
const FORGOTTEN_AFTER_MS = 5_000;

/** A client that is closed may go on connecting for so long. Milliseconds. */
const STILL_CONNECTING_MS = DRIVER_OPTIONS.connectTimeoutMS + 100;

/** Indexes are made again after this where that failed for a reason that passes, such as an election. Milliseconds. */
const INIT_AGAIN_AFTER_MS = 1_000;

const warnOfInit = (message: string) => new Logger('DatabaseInit').warn(message);

const UUIDS = /\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b/g;

/** The connection to MongoDB: it never gives up, and no read outlives its budget. */
@Injectable()
export class Database implements OnApplicationShutdown {
  readonly connection: Connection = createConnection();
  readonly topology = new Topology();
  private readonly logger = new Logger(Database.name);
  readonly reads = new BoundedReads(this, this.topology, () => this.logInAgain());
  private readonly clientListeners = [(client: MongoClient) => this.topology.follow(client)];
  private closed = false;
  private isReconnecting = false;
  private lastInitFailures = '';

  constructor(private readonly config: Config) {}

  /** Calls back with each of the driver's clients before it connects: after a failure there is another. */
  onClient(listener: (client: MongoClient) => void): void {
    this.clientListeners.push(listener);
  }

  get db(): Db {
    if (!this.connection.db) throw databaseUnavailable();
    return this.connection.db;
  }

  private async connect(): Promise<void> {
    const uri = this.config.mongodbUri;
    if (!uri) throw new Error('No MongoDB URI');
    const opening = openConnection(this.connection, uri);
    // The client is there before it connects: its first descriptions must not be missed.
    const client = this.connection.getClient();
    for (const listener of this.clientListeners) listener(client);
    await opening;
  }

  /** Connects however long it takes: for the server, which answers 503 in the meantime. */
  async connectEventually(): Promise<void> {
    const warn = (message: string) => this.logger.warn(message);
    let lastFailure = '';
    while (!this.closed) {
      try {
        await tellIfSlow(() => this.connect(), warn, SLOW_CONNECTION);
        return this.replaceWhenForgetful(this.connection.getClient());
      } catch (error) {
        const failure = whyNotConnected(error);
        const level = error instanceof MongoServerError ? 'error' : 'warn';
        if (failure !== lastFailure) this.logger[level](failure);
        lastFailure = failure;
        await delay(RECONNECT_AFTER_MS);
      }
    }
  }

  /**
   * Makes collections and indexes for the running server, which serves all the same where that fails.
   * @returns whether all of it is there
   */
  async init(): Promise<boolean> {
    while (!this.closed) {
      const report = await initDatabase(this.connection, warnOfInit);
      const failures = report
        .filter(({ ok }) => !ok)
        .map(({ what, reason }) => `Could not make ${what}: ${reason}`);
      // MongoDB gives each index build that fails a name of its own.
      const withoutNames = failures.join().replaceAll(UUIDS, '');
      if (withoutNames !== this.lastInitFailures) {
        for (const failure of failures) warnOfInit(failure);
      }
      this.lastInitFailures = withoutNames;
      if (!report.some(({ isPassing }) => isPassing)) return failures.length === 0;
      await delay(INIT_AGAIN_AFTER_MS, undefined, { ref: false });
    }
    return false;
  }

  /** For the server that leaves indexes to `db init`: without them each look-up reads all markets. */
  async warnOfMissingIndexes(): Promise<void> {
    for (const warning of await missingIndexes(this.connection)) warnOfInit(warning);
  }

  /**
   * Runs one read.
   * @param budgetMs time for all of it, in milliseconds
   * @throws Problem `database_unavailable`, `database_timeout` or `overloaded`
   */
  read<T>(budgetMs: number, operation: (attempt: ReadAttempt) => Promise<T>): Promise<T> {
    return this.reads.run(budgetMs, operation);
  }

  /** Connects anew, since open connections stay without a login; where the URI has no login, that would not help. */
  async logInAgain(): Promise<void> {
    if (this.isReconnecting || this.closed) return;
    this.topology.hasAccess = false;
    if (this.connection.getClient()?.options.credentials) await this.reconnect();
  }

  /**
   * A client never asks a host again that was a standalone server for a moment, takes the primary of a set that was made
   * anew for an old one, and follows its set to hosts that can't be reached. So it is replaced when it has known no
   * server for a while.
   */
  private replaceWhenForgetful(client: MongoClient): void {
    let timer: NodeJS.Timeout | undefined;
    const replace = () => {
      // Two clients at once would storm a server that is away.
      if (client === this.connection.getClient()) void this.reconnect(STILL_CONNECTING_MS);
    };
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      const knowsServer = [...newDescription.servers.values()].some(
        ({ type }) => type !== 'Unknown',
      );
      if (knowsServer) {
        clearTimeout(timer);
        timer = undefined;
      } else {
        timer ??= setTimeout(replace, FORGOTTEN_AFTER_MS).unref();
      }
    });
  }

  private async reconnect(pauseMs = 0): Promise<void> {
    if (this.isReconnecting || this.closed) return;
    this.isReconnecting = true;
    await this.connection.close(true).catch(() => undefined);
    if (pauseMs > 0) await delay(pauseMs, undefined, { ref: false });
    await this.connectEventually();
    this.isReconnecting = false;
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    await this.connection.close(true);
  }
}
