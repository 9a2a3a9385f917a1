/** What becomes of three times the load that the service can serve: prints one JSON document. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender, RunningServer } from './contenders.js';
import { cpuSeconds, moveToCore, OTHER_CORE } from './machine.js';
import type { SeededDatabase } from './mongo.js';
import { order } from './orders.js';
import { startNode } from './processes.js';
import { withLoad } from './rounds.js';
import { COLD, HOT, type Scenario } from './scenarios.js';
import type { Latencies, Storm, StormResult } from './storm-client.js';
import { withBenchMongo } from './with-bench-mongo.js';

const MARKETS = 50_000;
const TIMES_CAPACITY = 3;

/** Each storm between two peaks. What disturbs the machine for some seconds can only slow it: the best of each are compared. */
const ROUNDS = 3;
/** The warm-up of each new server, with one round more that does not count: code that has never run is slow. */
const WARM_UP_SECONDS = 6;
const PEAK_SECONDS = 2;
const STORM_SECONDS = 3;

/** The peak is what so many connections get, each of which always has a request under way. */
const PEAK_CONNECTIONS = 64;
const ALWAYS_DUE = 40_000;

/** What is asked of whom. */
interface Source {
  readonly name: string;
  readonly contender: Contender;
  readonly scenario: Scenario;
}

/** As a share of the peak, at least. */
const GOODPUT_ASKED = 0.75;

const SOURCES: readonly Source[] = [
  { name: 'from memory', contender: 'service', scenario: HOT },
  { name: 'from MongoDB', contender: 'service, cache off', scenario: COLD },
];

/** Kept open, as callers behind a proxy or with a pool have them. */
const CONNECTIONS = 2_000;

interface Probes {
  /** The slowest of the probes that were asked meanwhile, in ms. */
  readonly slowestProbe: number;
  readonly refusedProbes: number;
}

/** Rates are means of all rounds, but for goodput; times are those of the worst. */
export interface OverloadResult extends Probes {
  readonly name: string;
  /** Requests/s that are served where each connection waits for its answer. */
  readonly peak: number;
  /** In the storm, as shares of the peak: what was due, and what was sent. */
  readonly due: number;
  readonly sent: number;
  /** What was served in the best storm, as a share of the best peak. */
  readonly goodput: number;
  readonly goodputAsked: number;
  /** What was served in a second of processor time, as a share of that at the peak: other load changes it little. */
  readonly goodputByCpu: number;
  readonly lost: number;
  readonly served: Latencies;
  readonly refused: Latencies;
}

interface Phase extends StormResult, Probes {
  /** Processor time that the server used. */
  readonly cpuSeconds: number;
}

/** In turn: a peak, a storm, a peak and so on, with a peak at the end. */
interface Rounds {
  readonly peaks: readonly Phase[];
  readonly storms: readonly Phase[];
}

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function measure(
  database: SeededDatabase,
  { name: sourceName, contender, scenario }: Source,
): Promise<OverloadResult> {
  const { workload } = scenario;
  return withLoad(database, scenario, contender, async (server) => {
    const usual = { ...database, workload };
    const atPeak = (seconds: number) =>
      ask(server, { ...usual, connections: PEAK_CONNECTIONS, perSecond: ALWAYS_DUE, seconds });
    const inRounds = async (count: number): Promise<Rounds> => {
      let peak = await atPeak(PEAK_SECONDS);
      const peaks = [peak];
      const storms: Phase[] = [];
      while (storms.length < count) {
        const perSecond = TIMES_CAPACITY * rateOf([peak]);
        const storm = { ...usual, connections: CONNECTIONS, perSecond, seconds: STORM_SECONDS };
        storms.push(await ask(server, storm));
        peak = await atPeak(PEAK_SECONDS);
        peaks.push(peak);
      }
      return { peaks, storms };
    };
    await atPeak(WARM_UP_SECONDS);
    await inRounds(1);
    const found = summary(await inRounds(ROUNDS));
    const name = `${sourceName}, ${CONNECTIONS} connections`;
    const [goodput, asked] = [found.goodput, GOODPUT_ASKED].map((share) => Math.round(100 * share));
    say(`${name}, ${TIMES_CAPACITY} × capacity: ${goodput} % of it served (asked ${asked} %)`);
    return { name, goodputAsked: GOODPUT_ASKED, ...found };
  });
}

function summary({ peaks, storms }: Rounds): Omit<OverloadResult, 'name' | 'goodputAsked'> {
  const peak = rateOf(peaks);
  const seconds = sum(storms, (storm) => storm.seconds);
  return {
    peak,
    due: sum(storms, ({ due }) => due) / seconds / peak,
    sent: sum(storms, ({ sent }) => sent) / seconds / peak,
    goodput: bestOf(storms) / bestOf(peaks),
    goodputByCpu: perCpuSecond(storms) / perCpuSecond(peaks),
    lost: sum(storms, ({ lost }) => lost),
    served: worst(storms.map(({ served }) => served)),
    refused: {
      ...worst(storms.map(({ refused }) => refused)),
      p50: weightedMedian(storms.map(({ refused }) => refused)),
    },
    slowestProbe: Math.max(...storms.map(({ slowestProbe }) => slowestProbe)),
    refusedProbes: sum(storms, ({ refusedProbes }) => refusedProbes),
  };
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}

const rateOf = (phases: readonly Phase[]) =>
  sum(phases, ({ served }) => served.count) / sum(phases, ({ seconds }) => seconds);

const bestOf = (phases: readonly Phase[]) => Math.max(...phases.map((phase) => rateOf([phase])));

const perCpuSecond = (phases: readonly Phase[]) =>
  sum(phases, ({ served, servedLater }) => served.count + servedLater) /
  sum(phases, (phase) => phase.cpuSeconds);

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

/** The median of all rounds, weighted by their counts: in some rounds few are refused. */
function weightedMedian(all: readonly Latencies[]): number {
  const some = all.filter(({ count }) => count > 0).toSorted((a, b) => a.p50 - b.p50);
  const half = sum(some, ({ count }) => count) / 2;
  let counted = 0;
  for (const { count, p50 } of some) {
    counted += count;
    if (counted >= half) return p50;
  }
  return NaN;
}

async function ask(server: RunningServer, storm: Omit<Storm, 'port'>): Promise<Phase> {
  const client = startNode(OTHER_CORE, './storm-client.js');
  try {
    const before = cpuSeconds(server.pid);
    const over = order<StormResult>(client, { ...storm, port: server.port } satisfies Storm);
    const calm = new AbortController();
    const probes = watchProbes(server.port, calm.signal);
    const result = await over;
    calm.abort();
    return { ...result, ...(await probes), cpuSeconds: cpuSeconds(server.pid) - before };
  } finally {
    client.kill('SIGKILL');
  }
}

/** Orchestrators ask every few seconds, here it is every few milliseconds. */
const PROBES = { paths: ['/health/live', '/health/ready'], everyMs: 50 };
/** Prometheus asks at most this often: its answer lists each open file, and takes 10 ms with 5,000 of them. */
const METRICS = { paths: ['/metrics'], everyMs: 1_000 };

async function watchProbes(port: number, signal: AbortSignal): Promise<Probes> {
  const seen = { slowestProbe: 0, refusedProbes: 0 };
  const watch = async ({ paths, everyMs }: typeof PROBES) => {
    for (let asked = 0; !signal.aborted; asked++) {
      const startedAt = performance.now();
      const path = paths[asked % paths.length];
      const text = await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
      seen.slowestProbe = Math.max(seen.slowestProbe, performance.now() - startedAt);
      if (text.includes('"overloaded"')) seen.refusedProbes += 1;
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  };
  await Promise.all([watch(PROBES), watch(METRICS)]);
  return seen;
}

await withBenchMongo(say, async (mongo) => {
  const database = await mongo.seed(MARKETS, say);
  for (const pid of [process.pid, mongo.pid]) if (pid !== undefined) moveToCore(OTHER_CORE, pid);
  const results: OverloadResult[] = [];
  for (const source of SOURCES) results.push(await measure(database, source));
  process.stdout.write(`${JSON.stringify(results)}\n`);
});
