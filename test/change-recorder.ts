import { MongoClient } from 'mongodb';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import type { ChangeListener, Commit } from '../src/change-feed/change.js';
import { Config } from '../src/config.js';
import { Database } from '../src/database/database.js';
import { databaseName } from '../src/database/driver-options.js';
import { withDatabase, type TestMongod } from './mongo.js';

export interface Thing {
  readonly _id: string | number;
  readonly value?: number | string;
}

/** Generous, for the sake of a busy machine. */
export const FRESH_MS = 1_000;

export class Recorder implements ChangeListener {
  commits: Commit[] = [];
  timesForgotten = 0;

  committed(commit: Commit): void {
    this.commits.push(commit);
  }

  forgetAll(): void {
    this.timesForgotten += 1;
    this.commits = [];
  }

  /** What was told, without times. */
  get changes() {
    return this.commits.map(({ changes }) => changes);
  }
}

export function feedOf(mongodbUri: string): ChangeFeed {
  const config = { ...new Config(), mongodbUri };
  return new ChangeFeed(config, new Database(config));
}

/** A feed that has not begun yet, of a database of its own in a MongoDB that may fail. */
export class FailingFeed {
  readonly uri: string;
  readonly feed: ChangeFeed;
  readonly recorder = new Recorder();

  constructor(mongod: TestMongod) {
    this.uri = withDatabase(mongod.uri);
    this.feed = feedOf(this.uri);
    this.feed.listen('things', this.recorder);
  }

  async write(_id: string): Promise<void> {
    const client = new MongoClient(this.uri);
    await client.db(databaseName(this.uri)).collection<Thing>('things').insertOne({ _id });
    await client.close();
  }

  end(): Promise<void> {
    return this.feed.onApplicationShutdown();
  }
}
