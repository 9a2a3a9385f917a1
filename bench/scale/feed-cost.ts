import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { LOADED_AT_ASK } from '../../src/markets/cache/load-candidates.js';
import { eventIdOf } from '../bench-markets.js';
import { cpuSeconds } from '../machine.js';
import { median, sum } from '../statistics.js';
import { popularEvents } from '../workloads.js';
import { Caller } from './caller.js';
import { end, startScript } from './children.js';
import type { Stage } from './stage.js';

export interface FeedCost {
  /** Instances that follow the changes and remember the events that change. */
  readonly instances: number;
  readonly changesPerSecond: number;
  /** Share of a core that an instance uses, and all members of the replica set together. */
  readonly instanceCpu: number;
  readonly mongodCpu: number;
  /** What MongoDB's primary sends out, its secondaries included. */
  readonly sentBytesPerSecond: number;
}

/**
 * Writes prices at a steady rate while nobody asks for anything, with more and more instances watching: some
 * rounds, and the median of them.
 */
export async function measureFeedCost(
  stage: Stage,
  counts: readonly number[],
  changesPerSecond: number,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<FeedCost[]> {
  const all: FeedCost[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const count of counts) all.push(await measure(stage, count, changesPerSecond, seconds));
  }
  return counts.map((count) => {
    const own = all.filter(({ instances }) => instances === count);
    const medianOf = (of: (cost: FeedCost) => number) => median(own.map(of));
    return {
      instances: count,
      changesPerSecond,
      instanceCpu: medianOf(({ instanceCpu }) => instanceCpu),
      mongodCpu: medianOf(({ mongodCpu }) => mongodCpu),
      sentBytesPerSecond: medianOf(({ sentBytesPerSecond }) => sentBytesPerSecond),
    };
  });
}

async function measure(
  stage: Stage,
  count: number,
  changesPerSecond: number,
  seconds: number,
): Promise<FeedCost> {
  const instances = await stage.start(count);
  for (const { port } of instances) await remember(stage, port);
  const args = [stage.uri, String(stage.markets), String(changesPerSecond)];
  const writer = startScript('writer.js', args);
  await once(writer, 'message');
  await delay(1_000);
  const reading = async () => ({
    at: performance.now(),
    instances: sum(instances.map(({ pid }) => cpuSeconds(pid))),
    mongod: sum(stage.mongodSeconds()),
    sent: await sentBytes(stage),
  });
  const before = await reading();
  await delay(seconds * 1_000);
  const after = await reading();
  await end(writer);
  await stage.stopInstances();
  const took = (after.at - before.at) / 1_000;
  return {
    instances: count,
    changesPerSecond,
    instanceCpu: (after.instances - before.instances) / took / Math.max(1, count),
    mongodCpu: (after.mongod - before.mongod) / took,
    sentBytesPerSecond: (after.sent - before.sent) / took,
  };
}

/** Lets an instance have the popular events in memory. */
async function remember(stage: Stage, port: number): Promise<void> {
  const { key } = await stage.issueKey();
  const caller = new Caller(port);
  for (const event of popularEvents(stage.markets)) {
    const target = `/v1/markets/market/provider/${eventIdOf(event)}`;
    for (let ask = 1; ask <= LOADED_AT_ASK; ask++) await caller.ask(target, key);
  }
  caller.close();
}

async function sentBytes(stage: Stage): Promise<number> {
  const { network } = await stage.db.admin().command({ serverStatus: 1 });
  return Number(network.bytesOut);
}
