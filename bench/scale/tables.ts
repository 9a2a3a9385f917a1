import { markdownTable } from '../markdown-table.js';
import { formatNumber, median, sum } from '../statistics.js';
import type { FeedCost } from './feed-cost.js';
import type { Sighting } from './proofs.js';
import type { ScatterPoint } from './scatter.js';
import type { LimitResult } from './shared-limit.js';
import type { StoragePart } from './storage.js';
import type { ThroughputPoint } from './throughput.js';

export interface Proof {
  readonly what: string;
  readonly sightings: readonly Sighting[];
  /** Milliseconds. */
  readonly promised: number;
}

export function proofTable(proofs: readonly Proof[]): string {
  const rows = proofs.map(({ what, sightings, promised }) => {
    const arrived = sightings.map((sighting) => sighting.arrived);
    const worst = Math.max(...sightings.map(({ lastOutdated }) => lastOutdated));
    return [
      what,
      formatNumber(sightings.length),
      formatNumber(median(arrived)),
      formatNumber(Math.max(...arrived)),
      formatNumber(worst),
      formatNumber(promised),
      worst <= promised ? 'kept' : '**broken**',
    ];
  });
  const head = [
    'seen by all 4 instances',
    'times',
    'first new answer: p50 ms',
    'worst',
    'last old answer began: worst ms',
    'promised',
    '',
  ];
  return markdownTable(head, rows);
}

export function throughputTable(points: readonly ThroughputPoint[]): string {
  const rows = points
    .toSorted((one, other) => one.workload.localeCompare(other.workload))
    .map((point) => [
      point.workload,
      String(point.instances),
      formatNumber(point.perSecond),
      formatNumber(point.p99),
      formatNumber(point.serviceMicros),
      formatNumber(point.mongodMicros),
      formatNumber(point.unevenness),
      String(point.failed),
      formatNumber(point.bytesPerAnswer),
    ]);
  const head = [
    'look-ups',
    'instances',
    'requests/s',
    'p99 ms',
    'service CPU µs/request',
    'mongod CPU µs/request',
    'busiest × even',
    'failed',
    'bytes/answer',
  ];
  return markdownTable(head, rows);
}

export function feedTable(costs: readonly FeedCost[]): string {
  const alone = costs.find(({ instances }) => instances === 0);
  const rows = costs.map((cost) => [
    String(cost.instances),
    String(cost.changesPerSecond),
    cost.instances === 0 ? '–' : formatNumber(cost.instanceCpu * 100),
    formatNumber(cost.mongodCpu * 100),
    perInstance(cost, alone, ({ mongodCpu }) => mongodCpu * 100),
    perInstance(cost, alone, ({ sentBytesPerSecond }) => sentBytesPerSecond / 1e6),
  ]);
  const head = [
    'instances',
    'changes/s',
    'an instance, % of a core',
    'three mongods, % of a core',
    'more for each instance',
    'MB/s sent to each',
  ];
  return markdownTable(head, rows);
}

/** What each instance adds to what there is without any. */
function perInstance(
  cost: FeedCost,
  alone: FeedCost | undefined,
  of: (cost: FeedCost) => number,
): string {
  const isComparable = alone && alone !== cost && alone.changesPerSecond === cost.changesPerSecond;
  return formatNumber(isComparable ? (of(cost) - of(alone)) / cost.instances : NaN);
}

export function limitTable(results: readonly LimitResult[]): string {
  const rows = results.map(({ counted, instances, limit, asked, accepted }) => [
    counted,
    String(instances),
    String(limit),
    String(asked),
    String(accepted),
  ]);
  return markdownTable(['counted', 'instances', 'limit', 'asked', 'accepted'], rows);
}

export function scatterTable(points: readonly ScatterPoint[]): string {
  const rows = points.map((point) => [
    String(point.shards),
    point.asked,
    formatNumber(point.p50),
    formatNumber(point.p99),
    formatNumber(point.shardMicros),
    formatNumber(point.mergeMicros),
  ]);
  const head = ['shards', 'asked', 'p50 ms', 'p99 ms', 'shards’ CPU µs', 'asking and merging µs'];
  return markdownTable(head, rows);
}

export function storageTable(parts: readonly StoragePart[]): string {
  const rows = parts.map(({ part, plain, onDisk }) => [
    part,
    formatNumber(plain),
    formatNumber(onDisk),
  ]);
  rows.push(['all', '–', formatNumber(sum(parts.map(({ onDisk }) => onDisk)))]);
  return markdownTable(['for each market', 'plain bytes', 'bytes on disk'], rows);
}
