/** What becomes of three times the load that the service can serve: prints one JSON document. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChildProcess } from 'node:child_process';
import type { Contender, RunningServer } from './contenders.js';
import { cpuSeconds, moveToCore, OTHER_CORE } from './machine.js';
import { BenchMongo, type SeededDatabase } from './mongo.js';
import { endAll, startNode } from './processes.js';
import { withLoad } from './rounds.js';
import { COLD, HOT, type Scenario } from './scenarios.js';
import type { Latencies, Storm, StormReply, StormResult } from './storm-client.js';

const MARKETS = 50_000;
const TIMES_CAPACITY = 3;

/** Peak and storm take turns: what disturbs the machine for a while disturbs both. */
const ROUNDS = 4;
const WARM_UP_SECONDS = 4;
const PEAK_SECONDS = 2;
const STORM_SECONDS = 4;

/** The peak is what so many connections get that are never without a request. */
const PEAK_CONNECTIONS = 64;
const ALWAYS_DUE = 40_000;

interface Case {
  readonly name: string;
  readonly contender: Contender;
  readonly scenario: Scenario;
  /** At most, in the storm. */
  readonly connections: number;
  readonly newConnections: boolean;
}

const FROM_MEMORY = { contender: 'service', scenario: HOT } as const;
const FROM_MONGODB = { contender: 'service, cache off', scenario: COLD } as const;

/** On a quick machine the requests of few connections can all wait, those of many only if they are answered from memory. */
const [FEW, MANY] = [2_000, 5_000];

const CASES: readonly Case[] = [
  ...[FEW, MANY].flatMap((connections) => [
    keepingConnections('from memory', FROM_MEMORY, connections),
    keepingConnections('from MongoDB', FROM_MONGODB, connections),
  ]),
  {
    name: 'from MongoDB, a connection each',
    ...FROM_MONGODB,
    connections: FEW,
    newConnections: true,
  },
];

function keepingConnections(
  from: string,
  how: typeof FROM_MEMORY | typeof FROM_MONGODB,
  connections: number,
): Case {
  return {
    ...how,
    name: `${from}, ${connections} connections`,
    connections,
    newConnections: false,
  };
}

interface Probes {
  /** The slowest of the probes that were asked meanwhile, in ms. */
  readonly slowestProbe: number;
  readonly refusedProbes: number;
}

/** Rates are means of all rounds, times those of the worst. */
export interface OverloadResult extends Probes {
  readonly name: string;
  /** Requests/s that were served when they came as they were served. */
  readonly peak: number;
  /** In the storm, of the peak: what was due, sent and served. */
  readonly due: number;
  readonly sent: number;
  readonly goodput: number;
  /** What was served for each second of processor time, of what it was at the peak: whoever else was using the machine. */
  readonly goodputByCpu: number;
  readonly lost: number;
  readonly served: Latencies;
  readonly refused: Latencies;
}

interface Phase extends StormResult, Probes {
  /** Processor time that the server used. */
  readonly cpuSeconds: number;
}

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function measure(database: SeededDatabase, each: Case): Promise<OverloadResult> {
  const { connections, contender, name, newConnections, scenario } = each;
  const order = { ...database, workload: scenario.workload, newConnections };
  return withLoad(database, scenario, contender, async (server) => {
    const atPeak = (seconds: number) =>
      ask(server, { ...order, connections: PEAK_CONNECTIONS, perSecond: ALWAYS_DUE, seconds });
    await atPeak(WARM_UP_SECONDS);
    const [peaks, storms]: [Phase[], Phase[]] = [[], []];
    for (let round = 1; round <= ROUNDS; round++) {
      const peak = await atPeak(PEAK_SECONDS);
      const perSecond = TIMES_CAPACITY * rateOf([peak]);
      peaks.push(peak);
      storms.push(await ask(server, { ...order, connections, perSecond, seconds: STORM_SECONDS }));
    }
    return { name, ...summary(peaks, storms) };
  });
}

function summary(peaks: readonly Phase[], storms: readonly Phase[]): Omit<OverloadResult, 'name'> {
  const peak = rateOf(peaks);
  const seconds = sum(storms, (storm) => storm.seconds);
  return {
    peak,
    due: sum(storms, ({ due }) => due) / seconds / peak,
    sent: sum(storms, ({ sent }) => sent) / seconds / peak,
    goodput: rateOf(storms) / peak,
    goodputByCpu: perCpuSecond(storms) / perCpuSecond(peaks),
    lost: sum(storms, ({ lost }) => lost),
    served: worst(storms.map(({ served }) => served)),
    refused: worst(storms.map(({ refused }) => refused)),
    slowestProbe: Math.max(...storms.map(({ slowestProbe }) => slowestProbe)),
    refusedProbes: sum(storms, ({ refusedProbes }) => refusedProbes),
  };
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}

const rateOf = (phases: readonly Phase[]) =>
  sum(phases, ({ served }) => served.count) / sum(phases, ({ seconds }) => seconds);

const perCpuSecond = (phases: readonly Phase[]) =>
  sum(phases, ({ served }) => served.count) / sum(phases, (phase) => phase.cpuSeconds);

function worst(all: readonly Latencies[]): Latencies {
  const some = all.filter(({ count }) => count > 0);
  const most = (of: (latencies: Latencies) => number) => Math.max(...some.map(of));
  return {
    count: sum(all, ({ count }) => count),
    p50: most(({ p50 }) => p50),
    p99: most(({ p99 }) => p99),
    most: most((latencies) => latencies.most),
  };
}

async function ask(server: RunningServer, order: Omit<Storm, 'port'>): Promise<Phase> {
  const client = startNode(OTHER_CORE, './storm-client.js');
  try {
    const before = cpuSeconds(server.pid);
    const over = resultOf(client);
    client.send({ ...order, port: server.port } satisfies Storm);
    const calm = new AbortController();
    const probes = watchProbes(server.port, calm.signal);
    const result = await over;
    calm.abort();
    return { ...result, ...(await probes), cpuSeconds: cpuSeconds(server.pid) - before };
  } finally {
    client.kill('SIGKILL');
  }
}

async function resultOf(client: ChildProcess): Promise<StormResult> {
  const [reply] = (await once(client, 'message')) as [StormReply];
  if ('failure' in reply) throw new Error(`The storm failed: ${reply.failure}`);
  return reply.result;
}

/** Asks the probes all the time. */
async function watchProbes(port: number, signal: AbortSignal): Promise<Probes> {
  let [slowest, refused] = [0, 0];
  while (!signal.aborted) {
    for (const path of ['/health/live', '/health/ready', '/metrics']) {
      const startedAt = performance.now();
      const text = await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
      slowest = Math.max(slowest, performance.now() - startedAt);
      if (text.includes('"overloaded"')) refused += 1;
    }
    await delay(50);
  }
  return { slowestProbe: slowest, refusedProbes: refused };
}

const mongo = await BenchMongo.open(say);
try {
  const database = await mongo.seed(MARKETS, say);
  for (const pid of [process.pid, mongo.pid]) if (pid !== undefined) moveToCore(OTHER_CORE, pid);
  const results: OverloadResult[] = [];
  for (const each of CASES.filter(({ name }) => name.includes(process.argv[2] ?? ''))) {
    const result = await measure(database, each);
    results.push(result);
    say(JSON.stringify(result));
  }
  process.stdout.write(`${JSON.stringify(results)}\n`);
} finally {
  await endAll();
  await mongo.close();
}
