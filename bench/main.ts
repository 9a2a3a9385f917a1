/** `npm run bench`: the service beside what it is measured against, on one machine in one run. */
import { parseArgs } from 'node:util';
import { checkAgreement } from './agreement.js';
import { startReadyBytes } from './contenders.js';
import { LoadClient } from './load.js';
import { measureLoadCurve } from './load-curve.js';
import { canPin, machine, moveToCore, OTHER_CORE } from './machine.js';
import { measureMemory } from './memory.js';
import { BenchMongo, type SeededDatabase } from './mongo.js';
import { COLD } from './scenarios.js';
import { drawLoadCurve, drawSizeCurve } from './pictures.js';
import { endAll } from './processes.js';
import { writeReport } from './report.js';
import { atMost, goalsOf, goalTable, markdownTable, tableOf, type Goal } from './results.js';
import { FULL_PACE, QUICK_PACE, runRounds } from './rounds.js';
import { measureSizeCurve, type SizePoint } from './size-curve.js';
import { formatNumber } from './statistics.js';

const USAGE = `Usage: npm run bench -- [--markets 1000000] [--quick] [--docs]

  --markets N  so many markets in the database
  --quick      few and short rounds: a first idea
  --docs       measure the curves, too, and write docs/performance.md with its pictures

MONGODB_URI is used if set (databases of its own, dropped at the end), else a mongod is started.`;

const MARKETS_MAX = 100_000_000;
const SIZES = [100_000, 1_000_000, 10_000_000];
const COST_GROWTH_MAX = 1.2;
const QUICK_CURVE_SECONDS = 2;
const CURVE_SECONDS = 5;

const say = (line: string) => void process.stderr.write(`${line}\n`);

interface Wishes {
  readonly markets: number;
  readonly quick: boolean;
  readonly docs: boolean;
}

function wishes(): Wishes {
  const { values } = parseArgs({
    options: {
      markets: { type: 'string', default: '1000000' },
      quick: { type: 'boolean', default: false },
      docs: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const markets = Number(values.markets);
  const isPlausible = Number.isSafeInteger(markets) && markets >= 10_000 && markets <= MARKETS_MAX;
  if (values.help || !isPlausible) {
    say(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  return { markets, quick: values.quick, docs: values.docs };
}

async function bench({ markets, quick, docs }: Wishes): Promise<void> {
  const mongo = await BenchMongo.open(say);
  try {
    moveToCore(OTHER_CORE, process.pid);
    if (mongo.pid !== undefined) moveToCore(OTHER_CORE, mongo.pid);
    const description = `${machine(mongo.version)}${canPin ? '' : '; no cores of their own'}`;
    const database = await mongo.seed(markets, say);
    await checkAgreement(database);
    const ceiling = await measureCeiling(mongo, database);
    const samples = await runRounds(mongo, database, quick ? QUICK_PACE : FULL_PACE, (sample) => {
      const { round, scenario, contender, perSecond } = sample;
      say(`round ${round}, ${scenario.name}, ${contender}: ${formatNumber(perSecond)} requests/s`);
    });
    const memoryMb = await measureMemory(mongo, database, quick ? 6 : 60);
    const goals = goalsOf(samples, memoryMb);
    const sizes = docs ? await measureSizes(mongo, database, quick) : [];
    if (sizes.length > 1) goals.push(growthOf(sizes));
    const results = [
      `${description}. ${formatNumber(markets)} markets; the load client alone: ${formatNumber(ceiling)} requests/s.`,
      tableOf(samples),
      goalTable(goals),
    ].join('\n\n');
    process.stdout.write(`${results}\n`);
    if (docs) await illustrate(mongo, database, { results, sizes, quick });
  } finally {
    await endAll();
    await mongo.close();
  }
}

/** What the load client gets from a server that does nothing. */
async function measureCeiling(mongo: BenchMongo, database: SeededDatabase): Promise<number> {
  const client = new LoadClient(database, mongo.pid);
  const server = await startReadyBytes();
  const load = { workload: COLD.workload, conditional: false, seed: 1 };
  await client.run(server, { ...load, seconds: 1 });
  const { perSecond } = await client.run(server, { ...load, seconds: 2 });
  await client.close();
  await endAll();
  return perSecond;
}

async function measureSizes(
  mongo: BenchMongo,
  measured: SeededDatabase,
  quick: boolean,
): Promise<SizePoint[]> {
  const databases: SeededDatabase[] = [];
  for (const markets of SIZES.filter((size) => size <= measured.markets)) {
    databases.push(markets === measured.markets ? measured : await mongo.seed(markets, say));
  }
  return measureSizeCurve(mongo, databases, quick ? QUICK_PACE : FULL_PACE, say);
}

function growthOf(sizes: readonly SizePoint[]): Goal {
  const [small, large] = [sizes[0], sizes.at(-1)];
  const growth = (large?.cpuMicros ?? NaN) / (small?.cpuMicros ?? NaN);
  const name = `cost of a page at ${large?.markets} markets, × that at ${small?.markets}`;
  return atMost(name, COST_GROWTH_MAX, growth);
}

async function illustrate(
  mongo: BenchMongo,
  database: SeededDatabase,
  { results, sizes, quick }: { results: string; sizes: readonly SizePoint[]; quick: boolean },
): Promise<void> {
  const seconds = quick ? QUICK_CURVE_SECONDS : CURVE_SECONDS;
  const curve = await measureLoadCurve(mongo, database, seconds, (point) => {
    say(
      `${point.contender}, ${point.scenario.name}, ${point.perSecond}/s: p50 ${formatNumber(point.p50)} ms`,
    );
  });
  const sizeTable = markdownTable(
    ['markets', 'CPU µs/page', 'p50 ms', 'p99 ms', 'documents read', 'index entries read'],
    sizes.map((point) => [
      formatNumber(point.markets),
      formatNumber(point.cpuMicros),
      formatNumber(point.p50),
      formatNumber(point.p99),
      formatNumber(point.documentsExamined),
      formatNumber(point.keysExamined),
    ]),
  );
  await writeReport(`${results}\n\n${sizeTable}`, {
    'load.svg': drawLoadCurve(curve),
    'size.svg': drawSizeCurve(sizes),
  });
}

await bench(wishes());
