import { MongoClient, type Collection, type Db } from 'mongodb';
import { generateKey } from '../../src/api-keys/key-form.js';
import { databaseName } from '../../src/database/driver-options.js';
import { MarketSchema } from '../../src/markets/market.schema.js';
import { keyRecord } from '../../test/factories.js';
import { TestMongod } from '../../test/mongo.js';
import { startServer, type ServerProcess } from '../../test/server-process.js';
import { until } from '../../test/until.js';
import type { StoredMarket } from '../mongo.js';
import { seed } from '../seed.js';
import { cpuSeconds } from '../machine.js';

interface StoredKey {
  readonly _id: string;
  readonly name: string;
  readonly hash: string;
  readonly rateLimit: number;
  /** Open at a time. */
  readonly streams: number;
  readonly revokedAt?: Date;
}

export interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

/** More than any measurement opens. */
const STREAMS = 1_000_000;

/** A replica set with markets, and as many instances of the service as are wanted. */
export class Stage {
  private readonly instances: ServerProcess[] = [];

  private constructor(
    readonly mongod: TestMongod,
    private readonly client: MongoClient,
    readonly markets: number,
  ) {}

  static async open(markets: number, say: (line: string) => void, members = 3): Promise<Stage> {
    const mongod = await TestMongod.start({ members });
    const stage = new Stage(mongod, new MongoClient(mongod.uri), markets);
    try {
      await stage.fill(say);
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  get uri(): string {
    return this.mongod.uri;
  }

  get db(): Db {
    return this.client.db(databaseName(this.uri));
  }

  get collection(): Collection<StoredMarket> {
    return this.db.collection('markets');
  }

  /** Instances, ready to be asked. */
  async start(count: number, env: Record<string, string> = {}): Promise<ServerProcess[]> {
    const started = await Promise.all(
      Array.from({ length: count }, () => startServer({ MONGODB_URI: this.uri, ...env })),
    );
    this.instances.push(...started);
    await Promise.all(started.map(({ url }) => until(async () => isCurrent(url))));
    return started;
  }

  async stopInstances(): Promise<void> {
    await Promise.all(this.instances.splice(0).map((instance) => instance.stop()));
  }

  /** @param rateLimit requests a minute; 0: no limit */
  async issueKey(rateLimit = 0): Promise<IssuedKey> {
    const key = generateKey();
    const record = { ...keyRecord(key), rateLimit, streams: STREAMS };
    await this.keys.insertOne(record);
    return { id: record._id, key };
  }

  async revoke({ id }: IssuedKey): Promise<void> {
    await this.keys.updateOne({ _id: id }, { $set: { revokedAt: new Date() } });
  }

  /** Processor time that each member of the replica set has used, in seconds. */
  mongodSeconds(): number[] {
    return this.mongod.pids.map((pid) => cpuSeconds(pid));
  }

  /** Ends all of it; once more does no harm. */
  async close(): Promise<void> {
    await this.stopInstances();
    await this.client.close();
    await this.mongod.stop();
  }

  private get keys(): Collection<StoredKey> {
    return this.db.collection('api_keys');
  }

  /** The service makes collections and indexes, as it does at its first start; then come the markets. */
  private async fill(say: (line: string) => void): Promise<void> {
    await this.start(1);
    const wanted = MarketSchema.indexes().length + 1; // with _id's
    await until(async () => (await this.collection.indexes().catch(() => [])).length === wanted);
    await this.stopInstances();
    await seed(this.collection, this.markets, (inserted) => say(`${inserted} markets are in`));
    // Without this the checkpoint of all that would fall into the first measurement.
    await this.client.db('admin').command({ fsync: 1 });
  }
}

/** Whether an instance is ready, and sure of what it remembers. */
async function isCurrent(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/health/ready`);
  const body = (await answer.json()) as { changeFeed?: { state: string } };
  return body.changeFeed?.state === 'current';
}
