import type { ServerProcess } from '../../test/server-process.js';
import type { Load, LoadResult } from '../load-client.js';
import { cpuSeconds } from '../machine.js';
import { order } from '../orders.js';
import { sum } from '../statistics.js';
import { WORKLOADS, type Workload } from '../workloads.js';
import { end, startScript } from './children.js';
import { RoundRobin } from './round-robin.js';
import type { Stage } from './stage.js';

export interface ThroughputPoint {
  readonly instances: number;
  readonly workload: Workload;
  readonly perSecond: number;
  readonly p99: number;
  /** Processor time for a request, in µs: of the instances together, and of all members of the replica set. */
  readonly serviceMicros: number;
  readonly mongodMicros: number;
  /** Answers other than 200. */
  readonly failed: number;
  /** The busiest instance's share of the work, × what would be even. */
  readonly unevenness: number;
  readonly bytesPerAnswer: number;
}

const CONNECTIONS = 16;
/** Requests to each instance before anything counts: what V8 has not compiled yet costs several times as much. */
const WARM_UP_REQUESTS = 4_000;

/** Puts all the load that 16 connections carry on a number of instances behind a load balancer. */
export async function measureThroughput(
  stage: Stage,
  counts: readonly number[],
  seconds: number,
): Promise<ThroughputPoint[]> {
  const { key } = await stage.issueKey();
  const client = startScript('load-client.js');
  const points: ThroughputPoint[] = [];
  try {
    for (const count of counts) {
      const instances = await stage.start(count);
      const proxy = await new RoundRobin(instances.map(({ port }) => port)).listen();
      const { port } = proxy;
      const usual = { port, key, markets: stage.markets, connections: CONNECTIONS };
      for (const workload of WORKLOADS) {
        const load: Load = { ...usual, workload, conditional: false, seconds, seed: count };
        await order(client, { ...load, seconds: 2, atLeast: count * WARM_UP_REQUESTS });
        points.push(await measure(stage, instances, workload, () => order(client, load)));
      }
      proxy.close();
      await stage.stopInstances();
    }
  } finally {
    await end(client);
  }
  return points;
}

async function measure(
  stage: Stage,
  instances: readonly ServerProcess[],
  workload: Workload,
  load: () => Promise<LoadResult>,
): Promise<ThroughputPoint> {
  const cpu = () => instances.map(({ pid }) => cpuSeconds(pid));
  const [before, mongodBefore] = [cpu(), sum(stage.mongodSeconds())];
  const { requests: asked, statuses, seconds, p99, bodyBytes } = await load();
  // Only answers with odds count. On a machine with more to do than it can some come too late.
  const requests = statuses[200] ?? 0;
  const used = cpu().map((after, index) => after - (before[index] ?? 0));
  return {
    instances: instances.length,
    workload,
    perSecond: requests / seconds,
    p99,
    serviceMicros: (sum(used) / requests) * 1e6,
    mongodMicros: ((sum(stage.mongodSeconds()) - mongodBefore) / requests) * 1e6,
    failed: asked - requests,
    unevenness: (Math.max(...used) / sum(used)) * instances.length,
    bytesPerAnswer: bodyBytes / requests,
  };
}
