import { CONTENDERS, NODE_24, type Contender } from './contenders.js';
import { markdownTable } from './markdown-table.js';
import type { Sample } from './rounds.js';
import {
  COLD,
  HOT,
  HOT_CHANGING,
  HOT_COMPRESSED,
  HOT_CONDITIONAL,
  SCENARIOS,
  type Scenario,
} from './scenarios.js';
import type { SizePoint } from './size-curve.js';
import { formatNumber, median } from './statistics.js';

/** What must be reached, and what was. */
interface Goal {
  readonly name: string;
  readonly wanted: string;
  readonly found: number;
  readonly reached: boolean;
}

const MEMORY_MAX_MB = 300;
const MEMORY_24_MAX_MB = 220;
const COST_GROWTH_MAX = 1.2;

/** The samples of all rounds as one table, in Markdown. */
export function tableOf(samples: readonly Sample[]): string {
  const head = [
    'scenario',
    'server',
    'requests/s',
    '× bare driver',
    'p50 ms',
    'p99 ms',
    'CPU µs/request',
    'mongod µs/request',
    'most memory MB',
  ];
  const rows = SCENARIOS.flatMap((scenario) =>
    (scenario.contenders ?? CONTENDERS).map((contender) => {
      const own = samplesOf(samples, scenario, contender);
      const middle = (property: keyof Sample & MeasuredNumber) =>
        formatNumber(median(own.map((sample) => sample[property])));
      return [
        contender === CONTENDERS[0] ? scenario.name : '',
        contender,
        middle('perSecond'),
        formatNumber(ratio(samples, [scenario, contender], [scenario, 'bare driver'])),
        middle('p50'),
        middle('p99'),
        middle('serverMicros'),
        middle('mongodMicros'),
        formatNumber(Math.max(...own.map((sample) => sample.peakMemoryMb))),
      ];
    }),
  );
  return markdownTable(head, rows);
}

type MeasuredNumber = 'perSecond' | 'p50' | 'p99' | 'serverMicros' | 'mongodMicros';

/** @param soakMb the most memory that the service had in use in a long run */
export function goalsOf(samples: readonly Sample[], soakMb: number): Goal[] {
  const service = samples.filter(({ contender }) => contender === 'service');
  const memoryMb = Math.max(soakMb, ...service.map((sample) => sample.peakMemoryMb));
  const on24 = samples.filter(({ contender }) => contender === 'service, Node 24');
  const memory24Mb = Math.max(...on24.map((sample) => sample.peakMemoryMb));
  const timesBare = (scenario: Scenario, contender: Contender = 'service') =>
    ratio(samples, [scenario, contender], [scenario, 'bare driver']);
  const tail = (scenario: Scenario) =>
    ratio(samples, [scenario, 'service'], [scenario, 'bare driver'], 'p99');
  return [
    atLeast('cold, × bare driver', 1.3, timesBare(COLD)),
    atLeast('cold with the cache off, × bare driver', 1, timesBare(COLD, 'service, cache off')),
    ...[HOT_CHANGING, HOT_COMPRESSED].map((each) =>
      atLeast(`${each.name}, × bare driver`, 7, timesBare(each)),
    ),
    atLeast(`${HOT_CONDITIONAL.name}, × bare driver`, 8, timesBare(HOT_CONDITIONAL)),
    atLeast(
      'compressed, × the same uncompressed',
      0.9,
      ratio(samples, [HOT_COMPRESSED, 'service'], [HOT_CHANGING, 'service']),
    ),
    ...[COLD, HOT, HOT_CHANGING].map((each) =>
      atMost(`p99 of ${each.name}, × bare driver`, 1.1, tail(each)),
    ),
    atMost('most memory with the default cache, MB', MEMORY_MAX_MB, memoryMb),
    ...(NODE_24 ? [atMost('the same on Node 24', MEMORY_24_MAX_MB, memory24Mb)] : []),
  ];
}

/** The cost of a page in the largest collection against that in the smallest, if there are several. */
export function growthGoal(sizes: readonly SizePoint[]): Goal[] {
  const [smallest, largest] = [sizes[0], sizes.at(-1)];
  if (!smallest || !largest || smallest === largest) return [];
  const name = `cost of a page at ${formatNumber(largest.markets)} markets, × at ${formatNumber(smallest.markets)}`;
  return [atMost(name, COST_GROWTH_MAX, largest.cpuMicros / smallest.cpuMicros)];
}

function atLeast(name: string, least: number, found: number): Goal {
  return { name, wanted: `≥ ${least}`, found, reached: found >= least };
}

function atMost(name: string, most: number, found: number): Goal {
  return { name, wanted: `≤ ${most}`, found, reached: found <= most };
}

export function goalTable(goals: readonly Goal[]): string {
  const rows = goals.map(({ name, wanted, found, reached }) => [
    name,
    wanted,
    formatNumber(found),
    reached ? 'reached' : '**missed**',
  ]);
  return markdownTable(['goal', 'wanted', 'found', ''], rows);
}

/** Median of the ratios of each round: whatever slowed a round down, slowed both. */
function ratio(
  samples: readonly Sample[],
  one: readonly [Scenario, Contender],
  other: readonly [Scenario, Contender],
  property: keyof Sample & MeasuredNumber = 'perSecond',
): number {
  const others = samplesOf(samples, ...other);
  return median(
    samplesOf(samples, ...one).map(
      (own) => own[property] / (others.find(({ round }) => round === own.round)?.[property] ?? NaN),
    ),
  );
}

function samplesOf(samples: readonly Sample[], scenario: Scenario, contender: Contender): Sample[] {
  return samples.filter((sample) => sample.scenario === scenario && sample.contender === contender);
}
