import { MongoClient, ReadPreference, type ClientSession, type Db } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseName, DRIVER_OPTIONS } from '../database/driver-options.js';
import { isLasting } from './feed-errors.js';
import { demandProof } from './followable.js';

const RETRY_AFTER_MS = 250;
const RETRY_LASTING_AFTER_MS = 2_000;

/** A server that hangs is given up after this, so that another can be asked. Milliseconds. */
const SOCKET_TIMEOUT_MS = 2_000;

/** What is done on the connection, until it is closed. */
type Work = (db: Db, session: ClientSession) => Promise<void>;

/** A connection of the feed's own, so that load on the others can't delay it. */
export class FeedConnection {
  private client: MongoClient | undefined;
  private readonly closing = new AbortController();

  constructor(private readonly uri: string) {}

  get isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  /** Does the work until the connection is closed: when it fails, anew after a while. */
  async keepDoing(work: Work, failed: (error: unknown) => void): Promise<void> {
    while (!this.isClosing) {
      try {
        await this.doOnce(work);
      } catch (error) {
        if (this.isClosing) return;
        failed(error);
        const { signal } = this.closing;
        const ms = isLasting(error) ? RETRY_LASTING_AFTER_MS : RETRY_AFTER_MS;
        await delay(ms, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.client?.close(true);
  }

  private async doOnce(work: Work): Promise<void> {
    // A client whose first connection fails is of no more use: it is kept once it is connected.
    this.client ??= await new MongoClient(this.uri, {
      ...DRIVER_OPTIONS,
      // As an object it takes nothing from the URI: by its name, it clashes with `maxStalenessSeconds` there.
      readPreference: ReadPreference.primary,
      minPoolSize: 0,
      maxPoolSize: 2,
      socketTimeoutMS: SOCKET_TIMEOUT_MS,
    }).connect();
    const db = this.client.db(databaseName(this.uri));
    await demandProof(db);
    const session = this.client.startSession({ causalConsistency: false });
    try {
      await work(db, session);
    } finally {
      await session.endSession().catch(() => undefined);
    }
  }
}
