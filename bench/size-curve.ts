import { LoadClient } from './load.js';
import type { BenchMongo, SeededDatabase } from './mongo.js';
import { WARM_UP_REQUESTS, withLoad, type Pace } from './rounds.js';
import { COLD } from './scenarios.js';
import { markdownTable } from './markdown-table.js';
import { formatNumber, median } from './statistics.js';

/** What a page read from MongoDB costs, whatever is in the collection beside it. */
export interface SizePoint {
  readonly markets: number;
  /** Processor time of service and mongod together, in µs. */
  readonly cpuMicros: number;
  readonly p50: number;
  readonly p99: number;
  readonly documentsExamined: number;
  readonly keysExamined: number;
}

/** One after the other: how long a page takes, not how long it waits for others. */
const CONNECTIONS = 1;

/** Measures the service with its cache off on each database in turn, round by round. */
export async function measureSizeCurve(
  mongo: BenchMongo,
  databases: readonly SeededDatabase[],
  { rounds, seconds }: Pace,
  say: (line: string) => void,
): Promise<SizePoint[]> {
  const samples: SizePoint[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const database of databases) {
      const sample = await measureSize(mongo, database, seconds, round);
      say(`${sample.markets} markets: ${Math.round(sample.cpuMicros)} µs for a page`);
      samples.push(sample);
    }
  }
  return databases.map(({ markets }) => {
    const own = samples.filter((sample) => sample.markets === markets);
    const middle = (property: keyof SizePoint) => median(own.map((sample) => sample[property]));
    return {
      markets,
      cpuMicros: middle('cpuMicros'),
      p50: middle('p50'),
      p99: middle('p99'),
      documentsExamined: middle('documentsExamined'),
      keysExamined: middle('keysExamined'),
    };
  });
}

async function measureSize(
  mongo: BenchMongo,
  database: SeededDatabase,
  seconds: number,
  round: number,
): Promise<SizePoint> {
  const client = new LoadClient(database);
  const load = { workload: COLD.workload, conditional: false, connections: CONNECTIONS };
  const point = await withLoad(database, COLD, 'service, cache off', async (server) => {
    await client.run(server, { ...load, seconds: 1, atLeast: WARM_UP_REQUESTS, seed: 2 * round });
    const before = await mongo.examined();
    const found = await client.run(server, { ...load, seconds, seed: 2 * round + 1 });
    const after = await mongo.examined();
    const { requests, p50, p99, serverMicros, mongodMicros } = found;
    return {
      markets: database.markets,
      cpuMicros: serverMicros + (Number.isNaN(mongodMicros) ? 0 : mongodMicros),
      p50,
      p99,
      documentsExamined: (after.documents - before.documents) / requests,
      keysExamined: (after.keys - before.keys) / requests,
    };
  });
  await client.close();
  return point;
}

export function sizeTable(points: readonly SizePoint[]): string {
  return markdownTable(
    ['markets', 'CPU µs/page', 'p50 ms', 'p99 ms', 'documents read', 'index entries read'],
    points.map(({ markets, cpuMicros, p50, p99, documentsExamined, keysExamined }) =>
      [markets, cpuMicros, p50, p99, documentsExamined, keysExamined].map(formatNumber),
    ),
  );
}
