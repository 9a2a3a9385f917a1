import type { Contender } from './contenders.js';
import { LoadClient } from './load.js';
import type { SeededDatabase } from './mongo.js';
import { WARM_UP_REQUESTS, withLoad, type Pace } from './rounds.js';
import { COLD, HOT_CHANGING, type Scenario } from './scenarios.js';
import { formatNumber } from './statistics.js';

/** How long answers take at a rate of requests that does not wait for answers. */
export interface CurvePoint {
  readonly scenario: Scenario;
  readonly contender: Contender;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const RATES = [250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000];

/** A server that answers this late has more to do than it can. Milliseconds. */
const OVERLOADED_MS = 250;
/** So has one that refuses so many. */
const OVERLOADED_SHARE = 0.01;

/** Raises the rate for each server until it can't keep up. */
export async function measureLoadCurve(
  database: SeededDatabase,
  { warmUpSeconds, seconds }: Pace,
  say: (line: string) => void,
): Promise<CurvePoint[]> {
  const client = new LoadClient(database);
  const points: CurvePoint[] = [];
  for (const scenario of [COLD, HOT_CHANGING]) {
    for (const contender of ['service', 'bare driver'] as const) {
      await withLoad(database, scenario, contender, async (server) => {
        const load = { workload: scenario.workload, conditional: false };
        const warmUp = { seconds: warmUpSeconds, atLeast: WARM_UP_REQUESTS, seed: 1 };
        await client.run(server, { ...load, ...warmUp });
        for (const rate of RATES) {
          const found = await client.run(server, { ...load, rate, seconds, seed: rate });
          const { p50, p99, failedShare } = found;
          if (failedShare > OVERLOADED_SHARE) break;
          points.push({ scenario, contender, perSecond: rate, p50, p99 });
          say(`${contender}, ${scenario.name}, ${rate}/s: p50 ${formatNumber(p50)} ms`);
          if (p50 > OVERLOADED_MS) break;
        }
      });
    }
  }
  await client.close();
  return points;
}
