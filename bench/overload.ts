/** What becomes of three times the load that the service can serve: prints one JSON document. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChildProcess } from 'node:child_process';
import type { Contender, RunningServer } from './contenders.js';
import { LoadClient, type Measurement } from './load.js';
import { cpuSeconds, moveToCore, OTHER_CORE } from './machine.js';
import { BenchMongo, type SeededDatabase } from './mongo.js';
import { endAll, startNode } from './processes.js';
import { withLoad } from './rounds.js';
import { COLD, HOT, type Scenario } from './scenarios.js';
import type { Storm, StormReply, StormResult } from './storm-client.js';

const MARKETS = 50_000;
const TIMES_CAPACITY = 3;
const WARM_UP = { seconds: 3, atLeast: 3_000, seed: 1 };
const PEAK_SECONDS = 4;
const STORM_SECONDS = 8;

/** A closed loop has its peak at one of these. */
const CONNECTIONS = [16, 64];

interface Case {
  readonly name: string;
  readonly contender: Contender;
  readonly scenario: Scenario;
  readonly newConnections: boolean;
}

const CASES: readonly Case[] = [
  { name: 'from memory', contender: 'service', scenario: HOT, newConnections: false },
  { name: 'from MongoDB', contender: 'service, cache off', scenario: COLD, newConnections: false },
  {
    name: 'from MongoDB, a connection each',
    contender: 'service, cache off',
    scenario: COLD,
    newConnections: true,
  },
];

interface Probes {
  /** The slowest of the probes that were asked meanwhile, in ms. */
  readonly slowestProbe: number;
  readonly refusedProbes: number;
}

export interface OverloadResult extends StormResult, Probes {
  readonly name: string;
  /** The most that was served by a closed loop, a second. */
  readonly peak: number;
  /** Share of the peak that was served in the storm. */
  readonly goodput: number;
  /** The same for each second of processor time, whoever else was using the machine. */
  readonly goodputByCpu: number;
}

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function measure(mongo: BenchMongo, database: SeededDatabase, each: Case) {
  return withLoad(database, each.scenario, each.contender, async (server) => {
    const { perSecond: peak, serverMicros } = await peakOf(mongo, database, server, each);
    const cpuBefore = cpuSeconds(server.pid);
    const [result, probes] = await storm(server, {
      port: server.port,
      key: database.key,
      markets: database.markets,
      workload: each.scenario.workload,
      perSecond: TIMES_CAPACITY * peak,
      seconds: STORM_SECONDS,
      newConnections: each.newConnections,
    });
    const goodput = result.served.count / result.seconds / peak;
    const cpuMicros = (cpuSeconds(server.pid) - cpuBefore) * 1e6;
    const goodputByCpu = (result.served.count * serverMicros) / cpuMicros;
    const { name } = each;
    return { name, peak, goodput, goodputByCpu, ...probes, ...result } satisfies OverloadResult;
  });
}

async function peakOf(
  mongo: BenchMongo,
  database: SeededDatabase,
  server: RunningServer,
  { scenario: { workload } }: Case,
): Promise<Measurement> {
  const client = new LoadClient(database, mongo.pid);
  try {
    const load = { workload, conditional: false };
    await client.run(server, { ...load, ...WARM_UP });
    const runs: Measurement[] = [];
    for (const connections of CONNECTIONS) {
      const seconds = PEAK_SECONDS;
      runs.push(await client.run(server, { ...load, connections, seconds, seed: connections }));
    }
    return runs.reduce((best, run) => (run.perSecond > best.perSecond ? run : best));
  } finally {
    await client.close();
  }
}

async function storm(server: RunningServer, order: Storm): Promise<[StormResult, Probes]> {
  const client = startNode(OTHER_CORE, './storm-client.js');
  try {
    const over = resultOf(client);
    client.send(order);
    const calm = new AbortController();
    const probes = watchProbes(server.port, calm.signal);
    const result = await over;
    calm.abort();
    return [result, await probes];
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
    const result = await measure(mongo, database, each);
    results.push(result);
    say(JSON.stringify(result));
  }
  process.stdout.write(`${JSON.stringify(results)}\n`);
} finally {
  await endAll();
  await mongo.close();
}
