import { afterEach, beforeEach, describe, it } from '@jest/globals';
import { databaseName, DRIVER_OPTIONS } from '../../src/database/driver-options.js';
import { metric } from '../metric.js';
import { TestMongod } from '../mongo.js';
import { APP_NAME, onMember, setFailCommand } from '../mongo-admin.js';
import { startProcess, type ServerProcess } from '../services.js';
import { measurementsOf } from './measurements.js';
import { OpenLoop, quantileMs, tally } from './open-loop.js';
import { lookUp } from './paths.js';
import { until } from '../until.js';

const slow = measurementsOf('slow query');
const exhausted = measurementsOf('pool exhausted');

const LOAD_MS = 5_000;

let mongod: TestMongod;
let service: ServerProcess;

beforeEach(async () => {
  mongod = await TestMongod.start();
  service = await startProcess(mongod.uri, { env: { CACHE_MAX_MB: '0' } });
});

afterEach(async () => {
  await service.stop();
  await mongod.stop();
});

describe('slow query', () => {
  it('is given up at its deadline, by MongoDB as well', async () => {
    // Opens the connections that so many slow reads need.
    await slowly(500);
    await load(RATE);
    await setFailCommand(mongod, 'off');
    const closedBefore = await closed();

    const lock = locked(LOAD_MS + 1_000);
    const outcomes = await load(RATE);
    const lastAnswerAt = performance.now();
    await settled();
    const settledAfterMs = performance.now() - lastAnswerAt;
    await lock;
    const late = outcomes.filter(({ code }) => code === 'database_timeout');
    slow.exactly('503 database_unavailable, 504 database_timeout', {
      seen: 'look-ups; 503 where the key could not be checked',
      measured: Object.keys(tally(outcomes)).toSorted().join(', '),
    });
    slow.note({
      seen: '504 database_timeout, median',
      measured: quantileMs(late, 0.5),
      unit: 'ms',
    });
    slow.atMost(2_000, { seen: 'slowest answer', measured: quantileMs(outcomes, 1), unit: 'ms' });
    slow.exactly(0, {
      seen: `connections lost to ${outcomes.length} slow queries`,
      measured: (await closed()) - closedBefore,
    });
    slow.atMost(250, {
      seen: 'after the last answer mongod works on',
      measured: settledAfterMs,
      unit: 'ms',
    });
    const after = await load(RATE);
    slow.exactly('200', { seen: 'then', measured: Object.keys(tally(after)).join(', ') });
  });
});

describe('pool exhausted', () => {
  it('is told to some, the rest is served, health is not touched', async () => {
    const readMs = 500;
    const capacity = DRIVER_OPTIONS.maxPoolSize * (1000 / readMs);
    await slowly(readMs);
    await load(capacity / 2);
    const probing = new OpenLoop({ port: service.port, rate: 20, path: () => '/health/live' });
    const asking = new OpenLoop({ port: service.port, rate: 5, path: () => '/health/ready' });
    const outcomes = await load(capacity * 3);
    const [live, ready] = await Promise.all([probing.stop(), asking.stop()]);

    const shed = outcomes.filter(({ code }) => code === 'overloaded');
    const served = outcomes.filter(({ status }) => status === 200);
    exhausted.exactly('200, 503 overloaded', {
      seen: 'look-ups at 3 × what the connections carry',
      measured: Object.keys(tally(outcomes)).toSorted().join(', '),
    });
    exhausted.exactly(0, {
      seen: '503 without Retry-After',
      measured: shed.filter(({ retryAfter }) => !retryAfter).length,
    });
    exhausted.atLeast(85, {
      seen: 'of what the connections carry is served',
      measured: (100 * served.length) / (capacity * (LOAD_MS / 1000)),
      unit: '%',
    });
    exhausted.atMost(520, {
      seen: '503 overloaded, p99',
      measured: quantileMs(shed, 0.99),
      unit: 'ms',
    });
    exhausted.note({ seen: '503 overloaded, median', measured: quantileMs(shed, 0.5), unit: 'ms' });
    exhausted.atMost(2_000, {
      seen: 'slowest answer',
      measured: quantileMs(outcomes, 1),
      unit: 'ms',
    });
    exhausted.exactly('200', {
      seen: '/health/live',
      measured: Object.keys(tally(live)).join(', '),
    });
    exhausted.note({
      seen: '/health/live, p99: the noise of the machine',
      measured: quantileMs(live, 0.99),
      unit: 'ms',
    });
    exhausted.exactly('200', {
      seen: '/health/ready',
      measured: Object.keys(tally(ready)).join(', '),
    });
  });
});

/** Connections to MongoDB that were closed so far. */
function closed(): Promise<number> {
  return metric(service, 'mongodb_pool_connections_closed_total');
}

/** Requests a second that fit into the pool though each takes its whole deadline. */
const RATE = 20;

async function load(rate: number) {
  const { port, key } = service;
  const requests = (rate * LOAD_MS) / 1000;
  const asking = new OpenLoop({ port, key, rate, requests, path: lookUp });
  await asking.done;
  return asking.outcomes;
}

/** Makes each read of the markets take at least so long, but for the readiness probe's. */
async function slowly(blockTimeMS: number): Promise<void> {
  await setFailCommand(mongod, 'alwaysOn', {
    failCommands: ['aggregate'],
    namespace: `${databaseName(mongod.uri)}.markets`,
    blockConnection: true,
    blockTimeMS,
  });
}

/** Every read waits for as long as this, MongoDB's other clients included, and can be stopped there. */
async function locked(millis: number): Promise<void> {
  await onMember(mongod, 0, (client) =>
    client.db('admin').command({ sleep: 1, lock: 'w', millis }),
  );
}

/** Resolves when mongod works at no read of the service any more. */
async function settled(): Promise<void> {
  await onMember(mongod, 0, async (client) => {
    await until(async () => {
      const running = await client
        .db('admin')
        .aggregate([
          { $currentOp: { allUsers: true } },
          { $match: { appName: APP_NAME, 'command.aggregate': 'markets', active: true } },
        ])
        .toArray();
      return running.length === 0;
    });
  });
}
