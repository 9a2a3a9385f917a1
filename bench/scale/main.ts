/** `npm run bench:scale`: what several instances on a replica set promise, carry and cost. */
import { mkdir, writeFile } from 'node:fs/promises';
import { machine } from '../machine.js';
import { readArguments } from '../read-arguments.js';
import { writeBetween } from '../report.js';
import { drawChart } from '../svg-chart.js';
import { WORKLOADS } from '../workloads.js';
import { measureFeedCost } from './feed-cost.js';
import { measurePriceChanges, measureRevocations } from './proofs.js';
import { measureScatter, type ScatterPoint } from './scatter.js';
import { measureLimits } from './shared-limit.js';
import { Stage } from './stage.js';
import { measureStorage } from './storage.js';
import {
  feedTable,
  limitTable,
  proofTable,
  scatterTable,
  storageTable,
  throughputTable,
  type Proof,
} from './tables.js';
import { measureThroughput, type ThroughputPoint } from './throughput.js';

const USAGE = `Usage: npm run bench:scale -- [--markets 200000] [--quick] [--docs]

  --markets N  so many markets in the replica set
  --quick      short rounds: a first idea
  --docs       write docs/scaling.md and its pictures
`;

const PAGE = 'docs/scaling.md';
const PICTURES = 'docs/scaling';
const LINKS = '![instances](scaling/instances.svg)\n\n![one shard or all](scaling/scatter.svg)';

const INSTANCES = 4;
const COUNTS = [1, 2, 4];
const CHANGES_PER_SECOND = 1_000;
const SHARDS = [1, 2, 4, 8];

const FULL = { revocations: 40, prices: 400, seconds: 10, rounds: 3, scatterMarkets: 200_000 };
const QUICK = { revocations: 10, prices: 200, seconds: 3, rounds: 1, scatterMarkets: 40_000 };

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function bench(markets: number, pace: typeof FULL, docs: boolean): Promise<void> {
  const stage = await Stage.open(markets, say);
  try {
    const { version } = await stage.db.admin().command({ buildInfo: 1 });
    const storage = await measureStorage(stage);
    say('Revoking keys, changing prices');
    const proofs = await prove(stage, pace);
    say('Counting requests');
    const limits = await measureLimits(stage, INSTANCES);
    say('Putting load on 1, 2 and 4 instances');
    const throughput = await measureThroughput(stage, COUNTS, pace.seconds);
    say('Writing while 0, 1, 2 and 4 instances watch');
    const feed = [
      ...(await measureFeedCost(stage, [1], 0, pace)),
      ...(await measureFeedCost(stage, [0, ...COUNTS], CHANGES_PER_SECOND, pace)),
    ];
    await stage.close();
    say('Asking 1, 2, 4 and 8 shards');
    const scatter = await measureScatter(SHARDS, pace.scatterMarkets);
    const results = [
      `${machine(version as string)}; three members, the instances and those who ask them share the cores; ${markets.toLocaleString('en')} markets`,
      proofTable(proofs),
      throughputTable(throughput),
      feedTable(feed),
      limitTable(limits),
      scatterTable(scatter),
      storageTable(storage),
    ].join('\n\n');
    process.stdout.write(`${results}\n`);
    if (docs) await writePage(results, throughput, scatter);
  } finally {
    await stage.close();
  }
}

async function prove(stage: Stage, pace: typeof FULL): Promise<Proof[]> {
  const instances = await stage.start(INSTANCES);
  const ports = instances.map(({ port }) => port);
  const key = await stage.issueKey();
  const proofs = [
    {
      what: 'a revoked key is refused',
      promised: 2_000,
      sightings: await measureRevocations(stage, ports, pace.revocations),
    },
    {
      what: 'a changed price is answered',
      promised: 250,
      sightings: await measurePriceChanges(stage, ports, key, pace.prices),
    },
  ];
  await stage.stopInstances();
  return proofs;
}

async function writePage(
  results: string,
  throughput: readonly ThroughputPoint[],
  scatter: readonly ScatterPoint[],
): Promise<void> {
  await writeBetween('bench:scale', PAGE, `${results}\n\n${LINKS}`);
  await mkdir(PICTURES, { recursive: true });
  await writeFile(`${PICTURES}/instances.svg`, drawThroughput(throughput));
  await writeFile(`${PICTURES}/scatter.svg`, drawScatter(scatter));
}

function drawThroughput(points: readonly ThroughputPoint[]): string {
  return drawChart({
    title: 'Instances on one machine of two cores',
    xLabel: 'instances',
    yLabel: '',
    xMarks: COUNTS,
    yMarks: [10, 100, 1_000, 10_000],
    series: WORKLOADS.flatMap((workload, colour) => {
      const own = points.filter((point) => point.workload === workload);
      return [
        {
          name: `${workload}: requests a second`,
          colour,
          points: own.map(({ instances, perSecond }) => [instances, perSecond] as const),
        },
        {
          name: `${workload}: processor time of the service for a request, µs`,
          colour,
          dashed: true,
          points: own.map(({ instances, serviceMicros }) => [instances, serviceMicros] as const),
        },
      ];
    }),
  });
}

function drawScatter(points: readonly ScatterPoint[]): string {
  return drawChart({
    title: 'A look-up that asks one shard, and one that asks all',
    xLabel: 'shards',
    yLabel: 'µs of processor time',
    xMarks: SHARDS,
    yMarks: [100, 1_000, 10_000],
    series: (['one', 'all'] as const).map((asked, colour) => ({
      name: `asked: ${asked}`,
      colour,
      points: points
        .filter((point) => point.asked === asked)
        .map(
          ({ shards, shardMicros, mergeMicros }) => [shards, shardMicros + mergeMicros] as const,
        ),
    })),
  });
}

// What was started ends with this process, if it ends by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const options = {
  markets: { type: 'string', default: '200000' },
  quick: { type: 'boolean', default: false },
  docs: { type: 'boolean', default: false },
} as const;
const { values } = readArguments(USAGE, { options }, (found) => {
  const markets = Number(found.values.markets);
  return Number.isSafeInteger(markets) && markets >= 10_000;
});
await bench(Number(values.markets), values.quick ? QUICK : FULL, values.docs);
