import { MongoClient, type Collection, type Document } from 'mongodb';
import { TestMongod } from '../../test/mongo.js';
import { fixtureIdOf, marketOf, MARKETS_PER_EVENT, EVENTS_PER_FIXTURE } from '../bench-markets.js';
import { cpuSeconds } from '../machine.js';
import type { StoredMarket } from '../mongo.js';
import { quantile, sum } from '../statistics.js';
import { randomNumbers } from '../workloads.js';

export interface ScatterPoint {
  readonly shards: number;
  readonly asked: 'all' | 'one';
  readonly p50: number;
  readonly p99: number;
  /** Processor time for a look-up, in µs: of all shards, and of the process that asks them and merges. */
  readonly shardMicros: number;
  readonly mergeMicros: number;
}

const LOOKUPS = 3_000;
const AT_A_TIME = 8;
const TAKE = 10;

/**
 * What a look-up costs that has to ask every shard. There is no mongos here: standalone servers are the
 * shards, each with its part of the markets, and this process asks them all at once and merges by `_id`.
 */
export async function measureScatter(
  counts: readonly number[],
  markets: number,
): Promise<ScatterPoint[]> {
  const points: ScatterPoint[] = [];
  for (const count of counts) {
    const shards = await Promise.all(Array.from({ length: count }, () => Shard.start()));
    try {
      await fill(shards, markets);
      for (const asked of ['one', 'all'] as const) {
        await lookUp(shards, asked, markets, LOOKUPS / 10);
        points.push(await measure(shards, asked, markets));
      }
    } finally {
      await Promise.all(shards.map((shard) => shard.stop()));
    }
  }
  return points;
}

class Shard {
  private constructor(
    private readonly mongod: TestMongod,
    private readonly client: MongoClient,
  ) {}

  static async start(): Promise<Shard> {
    const mongod = await TestMongod.start({ members: 0 });
    return new Shard(mongod, new MongoClient(mongod.uri, { maxPoolSize: AT_A_TIME }));
  }

  get collection(): Collection<StoredMarket> {
    return this.client.db('shard').collection('markets');
  }

  get seconds(): number {
    return sum(this.mongod.pids.map((pid) => cpuSeconds(pid)));
  }

  /** The first page of its part, and how many it has: the service's own question. */
  async page(fixtureId: string): Promise<Document[]> {
    const match = { $match: { fixtureId } };
    const count = { coll: 'markets', pipeline: [match, { $count: 'itemCount' }] };
    const pipeline = [match, { $sort: { _id: 1 } }, { $limit: TAKE }, { $unionWith: count }];
    const { cursor } = await this.client
      .db('shard')
      .command({ aggregate: 'markets', pipeline, cursor: {} });
    return cursor.firstBatch as Document[];
  }

  async stop(): Promise<void> {
    await this.client.close();
    await this.mongod.stop();
  }
}

/** Whole fixtures on one shard, evenly: what is asked of all and what is asked of one find the same markets. */
async function fill(shards: readonly Shard[], markets: number): Promise<void> {
  for (const [index, { collection }] of shards.entries()) {
    await collection.createIndex({ fixtureId: 1, _id: 1 });
    let batch: StoredMarket[] = [];
    for (let number = 0; number < markets; number++) {
      if (shardOf(fixtureOf(number), shards.length) === index) batch.push(marketOf(number));
      if (batch.length < 2_000 && number < markets - 1) continue;
      if (batch.length > 0) await collection.insertMany(batch, { ordered: false });
      batch = [];
    }
  }
}

function fixtureOf(number: number): number {
  return Math.floor(number / MARKETS_PER_EVENT / EVENTS_PER_FIXTURE);
}

/** Knuth's multiplicative hash. */
function shardOf(fixture: number, shards: number): number {
  return ((fixture * 2_654_435_761) >>> 8) % shards;
}

async function measure(
  shards: readonly Shard[],
  asked: ScatterPoint['asked'],
  markets: number,
): Promise<ScatterPoint> {
  const reading = () => ({
    shard: sum(shards.map(({ seconds }) => seconds)),
    own: cpuSeconds(process.pid),
  });
  const before = reading();
  const latencies = (await lookUp(shards, asked, markets, LOOKUPS)).toSorted((a, b) => a - b);
  const after = reading();
  return {
    shards: shards.length,
    asked,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    shardMicros: ((after.shard - before.shard) / LOOKUPS) * 1e6,
    mergeMicros: ((after.own - before.own) / LOOKUPS) * 1e6,
  };
}

/** The milliseconds that each look-up took. */
async function lookUp(
  shards: readonly Shard[],
  asked: ScatterPoint['asked'],
  markets: number,
  times: number,
): Promise<number[]> {
  const random = randomNumbers(1);
  const latencies: number[] = [];
  const lane = async () => {
    while (latencies.length < times) {
      const fixture = Math.floor(random() * (fixtureOf(markets - 1) + 1));
      const owner = shards[shardOf(fixture, shards.length)];
      const startedAt = performance.now();
      const targets = asked === 'all' ? shards : shards.filter((shard) => shard === owner);
      const parts = await Promise.all(targets.map((shard) => shard.page(fixtureIdOf(fixture))));
      if (merge(parts).length !== TAKE) throw new Error(`Not a page of ${fixtureIdOf(fixture)}`);
      latencies.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  return latencies;
}

function merge(parts: readonly Document[][]): Document[] {
  return parts
    .flat()
    .filter((row) => row['itemCount'] === undefined)
    .toSorted((one, other) => (String(one['_id']) < String(other['_id']) ? -1 : 1))
    .slice(0, TAKE);
}
