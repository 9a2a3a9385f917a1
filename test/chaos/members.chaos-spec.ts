import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { metric } from '../metric.js';
import { TestMongod } from '../mongo.js';
import { onMember, primaryOf, writable } from '../mongo-admin.js';
import { startProcess, type ServerProcess } from '../services.js';
import { measurementsOf } from './measurements.js';
import { longestGapMs, OpenLoop, quantileMs, tally } from './open-loop.js';
import { lookUp } from './paths.js';
import { until } from '../until.js';

const REQUESTS = 10_000;
/** A fraction of what the service can do: what is lost is lost to the fault. */
const RATE = 500;
/** Of the requests, have been answered when the primary goes. */
const AFTER = 1_000;

const stepsDown = measurementsOf('primary steps down');
const killed = measurementsOf('primary is killed');

/** `200: 9,999, 503 overloaded: 1`. */
function written(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ');
}

describe('three nodes', () => {
  let mongod: TestMongod;

  beforeAll(async () => {
    mongod = await TestMongod.start({ members: 3 });
  });

  afterAll(() => mongod.stop());

  it.each([0, 64])('the primary steps down, CACHE_MAX_MB=%s', async (cacheMaxMb) => {
    await measureLoss(stepsDown, cacheMaxMb, async () => {
      const index = await primaryOf(mongod);
      const stepDown = { replSetStepDown: 10, secondaryCatchUpPeriodSecs: 2, force: true };
      await onMember(mongod, index, (client) => client.db('admin').command(stepDown));
      await writable(mongod);
    });
  });

  it.each([0, 64])('the primary is killed, CACHE_MAX_MB=%s', async (cacheMaxMb) => {
    await measureLoss(killed, cacheMaxMb, async () => {
      const index = await primaryOf(mongod);
      await mongod.kill('SIGKILL', index);
      await writable(mongod);
      await mongod.restart(index);
    });
  });

  async function measureLoss(
    rows: ReturnType<typeof measurementsOf>,
    cacheMaxMb: number,
    loss: () => Promise<void>,
  ): Promise<void> {
    await writable(mongod);
    const service: ServerProcess = await startProcess(mongod.uri, {
      env: { CACHE_MAX_MB: String(cacheMaxMb) },
    });
    try {
      await until(async () => (await metric(service, 'change_feed_up')) === 1);
      const { port, key } = service;
      // Ids that come again, so that memory has its share.
      const load = new OpenLoop({
        port,
        key,
        rate: RATE,
        requests: REQUESTS,
        path: (n) => lookUp(n % 500),
      });
      await until(() => load.outcomes.length >= AFTER);
      await loss();
      const wasUnderLoad = load.outcomes.length < REQUESTS;
      await load.done;
      const mode = cacheMaxMb > 0 ? 'with the cache' : 'without the cache';
      rows.exactly(`200: ${REQUESTS}`, {
        seen: `answers to ${REQUESTS} look-ups, ${mode}`,
        measured: written(tally(load.outcomes)),
      });
      rows.atMost(250, {
        seen: `longest time without a 200, ${mode}`,
        measured: longestGapMs(load.outcomes),
        unit: 'ms',
      });
      rows.note({ seen: 'slowest', measured: quantileMs(load.outcomes, 1), unit: 'ms' });
      expect(wasUnderLoad).toBe(true);
    } finally {
      await service.stop();
    }
  }
});
