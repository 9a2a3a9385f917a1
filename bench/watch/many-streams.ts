import { setTimeout as delay } from 'node:timers/promises';
import { memoryOf } from '../../test/chaos/footprint.js';
import type { ServerProcess } from '../../test/server-process.js';
import type { Load, LoadResult } from '../load-client.js';
import { order } from '../orders.js';
import { end, startScript } from '../scale/children.js';
import { median } from '../statistics.js';
import { Crowd } from './crowd.js';
import { atLeast, atMost, type Finding } from './promise.js';
import { streamPaths, streamsPossible, type Setting } from './setting.js';

const EVENTS = 200;
const ROUNDS = 7;
const SECONDS = 2;
const CONNECTIONS = 16;
const WARM_UP_REQUESTS = 6_000;
const READINGS = 9;

/** What thousands of streams take: memory, and speed from look-ups beside them. */
export async function measureManyStreams({ stage }: Setting): Promise<Finding[]> {
  const streams = streamsPossible();
  const [alone, beside] = await stage.start(2);
  if (!alone || !beside) return [];
  const { key } = await stage.issueKey();
  const crowd = new Crowd();
  const client = startScript('load-client.js');
  const lookUp = async ({ port }: ServerProcess, seed: number, requests = 0) => {
    const load: Load = {
      port,
      key,
      workload: 'hot',
      markets: stage.markets,
      connections: CONNECTIONS,
      conditional: false,
      seconds: SECONDS,
      atLeast: requests,
      seed,
    };
    const result = await order<LoadResult>(client, load);
    return result.requests / result.seconds;
  };
  try {
    for (const each of [alone, beside]) await lookUp(each, 1, WARM_UP_REQUESTS);
    const before = await settledMemory(beside);
    await crowd.open({ key, port: beside.port, paths: streamPaths(streams, EVENTS) });
    const more = (await settledMemory(beside)) - before;
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const without = await lookUp(alone, round);
      ratios.push((await lookUp(beside, round)) / without);
    }
    const { open } = await crowd.report();
    const count = open.toLocaleString('en');
    return [
      atMost(100, `${count} streams: resident memory more`, more, 'MiB'),
      atLeast(0.9, `look-ups a second beside them, × without`, median(ratios)),
    ];
  } finally {
    await crowd.end();
    await end(client);
    await stage.stopInstances();
  }
}

/** The median of some readings. */
async function settledMemory({ pid }: ServerProcess): Promise<number> {
  const readings: number[] = [];
  while (readings.length < READINGS) {
    await delay(500);
    readings.push(memoryOf(pid));
  }
  return median(readings);
}
