import { CONTENDERS, startContender, type Contender, type RunningServer } from './contenders.js';
import { LoadClient, type Measurement } from './load.js';
import { OTHER_CORE, peakMemoryMb } from './machine.js';
import type { SeededDatabase } from './mongo.js';
import { end, ready, startNode } from './processes.js';
import { SCENARIOS, type Scenario } from './scenarios.js';
import { formatNumber } from './statistics.js';

export interface Pace {
  readonly rounds: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** How long memory is watched. */
  readonly soakSeconds: number;
}

/** While V8 still compiles, for some ten seconds, an answer takes up to 1.6 times the processor time of later ones. */
export const FULL_PACE: Pace = { rounds: 5, warmUpSeconds: 12, seconds: 4, soakSeconds: 60 };
export const QUICK_PACE: Pace = { rounds: 3, warmUpSeconds: 1, seconds: 2, soakSeconds: 9 };

/** Compiled code is what is measured: a slow machine warms up by requests rather than by seconds. */
export const WARM_UP_REQUESTS = 3_000;

export interface Sample extends Measurement {
  readonly round: number;
  readonly scenario: Scenario;
  readonly contender: Contender;
  /** The most memory that the server had in use, in MiB. */
  readonly peakMemoryMb: number;
}

/**
 * Measures every contender in every scenario, round by round: what disturbs the machine for a while
 * disturbs all of them. Each measurement has a fresh server to itself, so that none pays for another.
 */
export async function runRounds(
  database: SeededDatabase,
  pace: Pace,
  say: (line: string) => void,
): Promise<Sample[]> {
  const client = new LoadClient(database);
  const samples: Sample[] = [];
  for (let round = 1; round <= pace.rounds; round++) {
    for (const scenario of SCENARIOS) {
      for (const contender of inTurn(scenario.contenders ?? CONTENDERS, round)) {
        const sample = await withLoad(database, scenario, contender, async (server) => {
          const measurement = await measure(client, server, scenario, pace, round);
          return {
            ...measurement,
            round,
            scenario,
            contender,
            peakMemoryMb: peakMemoryMb(server.pid),
          };
        });
        samples.push(sample);
        say(
          `round ${round}: ${scenario.name}, ${contender}: ${formatNumber(sample.perSecond)} requests/s`,
        );
      }
    }
  }
  await client.close();
  return samples;
}

/** Each round begins with another one, so that none is always the first after a change of scenario. */
function inTurn(contenders: readonly Contender[], round: number): Contender[] {
  const first = (round - 1) % contenders.length;
  return [...contenders.slice(first), ...contenders.slice(0, first)];
}

async function measure(
  client: LoadClient,
  server: RunningServer,
  { workload, conditional, form = 'plain' }: Scenario,
  { warmUpSeconds, seconds }: Pace,
  round: number,
): Promise<Measurement> {
  const load = { workload, conditional, form, seconds, seed: 2 * round };
  await client.run(server, { ...load, seconds: warmUpSeconds, atLeast: WARM_UP_REQUESTS });
  return client.run(server, { ...load, seed: 2 * round + 1 });
}

/** Runs something with a server, and with somebody who changes prices if the scenario has one. */
export async function withLoad<T>(
  database: SeededDatabase,
  { changesPerSecond }: Scenario,
  contender: Contender,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await startContender(contender, database);
  const { uri, markets } = database;
  const writer =
    changesPerSecond === 0
      ? undefined
      : startNode(OTHER_CORE, './writer.js', [uri, String(markets), String(changesPerSecond)]);
  try {
    if (writer) await ready(writer);
    return await use(server);
  } finally {
    if (writer) await end(writer);
    await end(server.process);
  }
}
