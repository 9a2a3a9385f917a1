/** `npm run test:soak`: the service for a long time at half of what it can carry: whether anything grows. */
import { metricsOf } from '../../test/metric.js';
import type { RunningServer } from '../contenders.js';
import { LoadClient } from '../load.js';
import { canPin, machine, moveToCore, OTHER_CORE } from '../machine.js';
import type { BenchMongo, SeededDatabase } from '../mongo.js';
import { readArguments } from '../read-arguments.js';
import { writeBetween } from '../report.js';
import { withLoad } from '../rounds.js';
import { HOT_CHANGING } from '../scenarios.js';
import { formatNumber } from '../statistics.js';
import { withBenchMongo } from '../with-bench-mongo.js';
import { CONNECTIONS, MixedLoad } from './mixed-load.js';
import { isMet, judge, sampleTable, verdictTable, type Sample } from './verdict.js';
import { watch } from './watch.js';

const USAGE = `Usage: npm run test:soak -- [--minutes 30] [--markets 200000] [--docs]

  --minutes N  so long; 1 is enough to try it, though not for memory to settle
  --markets N  so many markets in the database
  --docs       write the verdict to docs/reliability.md

Exits with 1 if memory, descriptors or connections to MongoDB grow, or a request fails.
`;

const MARKETS_MIN = 10_000;
/** Three seconds for each sample. */
const MINUTES_MIN = 0.5;
const SHARE_OF_CAPACITY = 0.5;
const WARM_UP_SECONDS = 3;
/** Requests a second: at a rate of its own, a load may be refused on a busy machine. */
const WARM_UP_RATE = 1_500;
/** Memory is full when it grows by less than this, in MiB, in a round of warming up; if not, it is after so many. */
const FULL_MB = 1;
const WARM_UP_ROUNDS_MAX = 20;
const CAPACITY_SECONDS = 10;
/** The mix's own clients compile their code in their first seconds, on the core that mongod needs. */
const SETTLE_SECONDS = 20;
/** A sample takes a minute, and in a short run as much as makes ten of them. */
const SAMPLE_SECONDS = 60;
const SAMPLES_AT_LEAST = 10;

interface SoakOptions {
  readonly minutes: number;
  readonly markets: number;
  readonly docs: boolean;
}

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function soak(mongo: BenchMongo, { minutes, markets, docs }: SoakOptions): Promise<void> {
  const database = await mongo.seed(markets, say);
  for (const pid of [process.pid, mongo.pid]) if (pid !== undefined) moveToCore(OTHER_CORE, pid);
  await withLoad(database, HOT_CHANGING, 'service', async (server) => {
    const capacity = await measureCapacity(database, server);
    const perSecond = Math.round(SHARE_OF_CAPACITY * capacity);
    say(`${formatNumber(capacity)} requests/s at most: ${formatNumber(perSecond)} from now on`);
    const samples = await takeSamples(database, server, perSecond, minutes);
    const judgements = judge(samples);
    const results = [
      [
        `${machine(mongo.version)}${canPin ? '' : ', no cores of their own'}`,
        `${formatNumber(markets)} markets, ${HOT_CHANGING.changesPerSecond} price changes/s`,
        `${formatNumber(perSecond)} requests/s, half of ${formatNumber(capacity)}, for ${minutes} min`,
      ].join('; '),
      verdictTable(judgements),
    ].join('\n\n');
    process.stdout.write(`${results}\n\n${sampleTable(samples)}\n`);
    if (docs) await writeBetween('soak', 'docs/reliability.md', results);
    if (!judgements.every(isMet)) process.exitCode = 1;
  });
}

/** Finds how many popular look-ups the service carries a second, once its memory is full. */
async function measureCapacity(database: SeededDatabase, server: RunningServer): Promise<number> {
  const client = new LoadClient(database);
  await fillMemory(client, server);
  const load = { workload: 'hot', conditional: false, seed: 0 } as const;
  await client.run(server, { ...load, seconds: WARM_UP_SECONDS });
  const { perSecond } = await client.run(server, { ...load, seconds: CAPACITY_SECONDS });
  await client.close();
  return perSecond;
}

/** Fills the cache, whose growth would look like a leak in a short run. */
async function fillMemory(client: LoadClient, server: RunningServer): Promise<void> {
  const remembered = async () => (await metricsOf(server))('markets_cache_bytes') / 2 ** 20;
  const load = {
    workload: 'cold',
    conditional: false,
    rate: WARM_UP_RATE,
    connections: CONNECTIONS,
    seconds: WARM_UP_SECONDS,
  } as const;
  for (let [round, before] = [1, -Infinity]; round <= WARM_UP_ROUNDS_MAX; round++) {
    await client.run(server, { ...load, seed: round });
    const now = await remembered();
    say(`Warming up: ${formatNumber(now)} MB of markets are in memory`);
    if (now - before < FULL_MB) return;
    before = now;
  }
}

async function takeSamples(
  database: SeededDatabase,
  server: RunningServer,
  perSecond: number,
  minutes: number,
): Promise<Sample[]> {
  const load = new MixedLoad(database);
  await load.run(server, perSecond, SETTLE_SECONDS, 0);
  const count = Math.max(SAMPLES_AT_LEAST, Math.ceil((minutes * 60) / SAMPLE_SECONDS));
  const seconds = (minutes * 60) / count;
  const samples: Sample[] = [];
  for (let index = 1; index <= count; index++) {
    const over = new AbortController();
    const [result, watched] = await Promise.all([
      load.run(server, perSecond, seconds, index).finally(() => over.abort()),
      watch(server, over.signal),
    ]);
    samples.push({ minute: (index * minutes) / count, load: result, ...watched });
    const { memoryMb, descriptors } = watched.holdings;
    say(`${index} of ${count}: ${formatNumber(memoryMb)} MB, ${descriptors} descriptors`);
  }
  await load.close();
  return samples;
}

const options = {
  minutes: { type: 'string', default: '30' },
  markets: { type: 'string', default: '200000' },
  docs: { type: 'boolean', default: false },
} as const;
const { values } = readArguments(USAGE, { options }, (found) => {
  const [minutes, markets] = [Number(found.values.minutes), Number(found.values.markets)];
  return minutes >= MINUTES_MIN && Number.isSafeInteger(markets) && markets >= MARKETS_MIN;
});
const { docs } = values;
const [minutes, markets] = [Number(values.minutes), Number(values.markets)];
await withBenchMongo(say, (mongo) => soak(mongo, { minutes, markets, docs }));
