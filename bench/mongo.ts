import { MongoClient, type Collection } from 'mongodb';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { generateKey } from '../src/api-keys/key-form.js';
import { findMongod } from '../src/embedded-mongod/find-mongod.js';
import { freePort } from '../src/embedded-mongod/free-port.js';
import { MongodProcess } from '../src/embedded-mongod/mongod-process.js';
import { formReplicaSet } from '../src/embedded-mongod/replica-set.js';
import { MarketSchema } from '../src/markets/market.schema.js';
import { keyRecord } from '../test/factories.js';
import { withDatabase } from '../test/mongo.js';
import type { marketOf } from './bench-markets.js';
import { seed } from './seed.js';

export type StoredMarket = ReturnType<typeof marketOf>;

/** A database with a number of markets, indexes and a key without limit. */
export interface SeededDatabase {
  readonly uri: string;
  readonly markets: number;
  readonly key: string;
  /** Undefined if the mongod is not our own. */
  readonly mongodPid: number | undefined;
}

/** Documents and index entries that the server has looked at since it started. */
interface Examined {
  readonly documents: number;
  readonly keys: number;
}

/** The MongoDB that everybody is measured on: a mongod of our own, or the one that MONGODB_URI names. */
export class BenchMongo {
  private readonly names: string[] = [];

  private constructor(
    private readonly client: MongoClient,
    private readonly uri: string,
    readonly version: string,
    /** Undefined if the mongod is not our own. */
    readonly pid: number | undefined,
    private readonly shutDown: () => Promise<void>,
  ) {}

  static async open(say: (line: string) => void): Promise<BenchMongo> {
    const given = process.env['MONGODB_URI'];
    if (given) return BenchMongo.connect(given, undefined, async () => undefined);
    const folder = await mkdtemp(join(tmpdir(), 'markets-odds-bench-'));
    const removeFolder = () => rm(folder, { recursive: true, force: true });
    try {
      const port = await freePort();
      const mongod = await MongodProcess.start({
        program: await findMongod(say),
        dbPath: folder,
        port,
        replicaSet: 'bench',
      });
      const uri = await formReplicaSet('bench', [port]);
      const mongo = await BenchMongo.connect(uri, mongod.pid, async () => {
        await mongod.stop();
        await removeFolder();
      });
      await mongo.useUsualCache();
      return mongo;
    } catch (error) {
      await removeFolder();
      throw error;
    }
  }

  private static async connect(
    uri: string,
    pid: number | undefined,
    shutDown: () => Promise<void>,
  ): Promise<BenchMongo> {
    const client = await MongoClient.connect(uri);
    const { version } = await client.db('admin').command({ buildInfo: 1 });
    return new BenchMongo(client, uri, version as string, pid, shutDown);
  }

  /** Fills a database of its own with markets. What the bench makes, it drops at the end. */
  async seed(markets: number, say: (line: string) => void): Promise<SeededDatabase> {
    const name = `markets-odds-bench-${process.pid}-${markets}`;
    this.names.push(name);
    const db = this.client.db(name);
    const collection: Collection<StoredMarket> = db.collection('markets_to_be');
    const startedAt = performance.now();
    await seed(collection, markets, (inserted) => say(`${inserted} of ${markets} markets`));
    say(`Building the indexes of ${markets} markets`);
    await collection.createIndexes(
      MarketSchema.indexes().map(([key, { name: index, unique }]) => ({
        key: key as Record<string, 1>,
        name: index,
        unique: unique === true,
      })),
    );
    // Under another name: their inserts are no changes that a service would have to read at its start.
    await collection.rename('markets');
    say(`${markets} markets are in after ${Math.round((performance.now() - startedAt) / 1000)} s`);
    const key = generateKey();
    await db.collection<{ _id: string }>('api_keys').insertOne(keyRecord(key));
    return { uri: withDatabase(this.uri, name), markets, key, mongodPid: this.pid };
  }

  async examined(): Promise<Examined> {
    const { metrics } = await this.client.db('admin').command({ serverStatus: 1 });
    const { scannedObjects, scanned } = metrics.queryExecutor;
    return { documents: Number(scannedObjects), keys: Number(scanned) };
  }

  async close(): Promise<void> {
    if (this.pid === undefined) {
      for (const name of this.names) await this.client.db(name).dropDatabase();
    }
    await this.client.close();
    await this.shutDown();
  }

  /** The embedded MongoDB is started with a small cache; for a server of its own it'd be half of the memory. */
  private async useUsualCache(): Promise<void> {
    const bytes = Math.max(256 * 2 ** 20, (totalmem() - 2 ** 30) / 2);
    const size = `cache_size=${Math.round(bytes / 2 ** 20)}MB`;
    await this.client.db('admin').command({ setParameter: 1, wiredTigerEngineRuntimeConfig: size });
  }
}
