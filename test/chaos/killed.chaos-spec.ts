import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { metric } from '../metric.js';
import { TestMongod } from '../mongo.js';
import { APP_NAME, onMember, writable } from '../mongo-admin.js';
import { startProcess, type ServerProcess } from '../services.js';
import { ConnectionTrap } from './connection-trap.js';
import { descriptorsOf, memoryOf } from './footprint.js';
import { measurementsOf } from './measurements.js';
import { isServed, OpenLoop, quantileMs, tally, type Outcome } from './open-loop.js';
import { lookUp } from './paths.js';

const rows = measurementsOf('mongod killed and restarted');

/** The first warms the service up: what it holds after that, it must hold after the others. */
const ROUNDS = 5;
const AWAY_MS = 3_000;
/** From then on the service must know that MongoDB is away. */
const KNOWN_AFTER_MS = 1_500;
/** Longer than the driver's heartbeat: every monitor has had its turn. */
const SETTLE_MS = 1_200;

interface Round {
  readonly killedAt: number;
  readonly backAt: number;
  readonly lookUps: readonly Outcome[];
  readonly probes: readonly Outcome[];
  readonly holding: Holding;
}

/** What the service holds while nobody asks it anything. */
interface Holding {
  /** Besides its connections to mongod. */
  readonly descriptors: number;
  /** At mongod, besides those of the pool. */
  readonly connections: number;
  readonly memory: number;
}

describe('mongod killed and restarted', () => {
  let mongod: TestMongod;
  let service: ServerProcess;

  beforeAll(async () => {
    mongod = await TestMongod.start();
    service = await startProcess(mongod.uri);
  });

  afterAll(async () => {
    await service.stop();
    await mongod.stop();
  });

  it('is told at once while it is away, and over by itself', async () => {
    const rounds: Round[] = [];
    while (rounds.length < ROUNDS) rounds.push(await round());

    const all = rounds.flatMap(({ lookUps }) => lookUps);
    const away = rounds.flatMap((each) => within(each.killedAt, each.backAt, each.lookUps));
    const known = rounds.flatMap((each) =>
      within(each.killedAt + KNOWN_AFTER_MS, each.backAt, each.lookUps),
    );
    const alive = rounds.flatMap((each) =>
      within(each.killedAt + KNOWN_AFTER_MS, each.backAt, each.probes),
    );
    rows.exactly('200, 503 database_unavailable', {
      seen: 'all answers to look-ups',
      measured: Object.keys(tally(all)).join(', '),
    });
    rows.exactly('503 database_unavailable', {
      seen: 'from 1.5 s after the kill until it is back',
      measured: Object.keys(tally(known)).join(', '),
    });
    rows.atMost(1_500, {
      seen: 'slowest answer while it is away',
      measured: quantileMs(away, 1),
      unit: 'ms',
    });
    rows.atMost(10, { seen: 'then, p99', measured: quantileMs(known, 0.99), unit: 'ms' });
    rows.note({ seen: 'then, slowest', measured: quantileMs(known, 1), unit: 'ms' });
    rows.note({
      seen: 'beside it /health/live, p99: the noise of the machine',
      measured: quantileMs(alive, 0.99),
      unit: 'ms',
    });
    rows.atMost(1.5, {
      seen: `first 200 after mongod takes connections, worst of ${ROUNDS}`,
      measured: Math.max(...rounds.map((each) => backAfterMs(each))) / 1000,
      unit: 's',
    });
    rows.exactly(0, { seen: 'ends of the process', measured: service.hasEnded ? 1 : 0 });

    const [first, last] = [rounds[0]?.holding, rounds.at(-1)?.holding];
    if (!first || !last) throw new Error('No rounds');
    rows.atMost(0, {
      seen: `descriptors more after ${ROUNDS - 1} more rounds`,
      measured: last.descriptors - first.descriptors,
    });
    rows.atMost(0, {
      seen: 'connections at mongod more, besides the pool',
      measured: last.connections - first.connections,
    });
    rows.atMost(32, { seen: 'memory more', measured: last.memory - first.memory, unit: 'MB' });
  });

  it('is not stormed while it is away', async () => {
    const load = new OpenLoop({ ...target(), rate: 200, path: lookUp });
    await load.next(isServed);
    await mongod.kill('SIGKILL');
    const [port = 0] = mongod.ports;
    const trap = await ConnectionTrap.start(port);
    try {
      await delay(AWAY_MS * 2);
    } finally {
      await trap.stop();
    }
    rows.atMost(2, { seen: 'connects at once while it is away', measured: trap.atOnce });
    rows.note({ seen: 'connects a second', measured: trap.inAll / ((AWAY_MS * 2) / 1000) });
    await mongod.restart();
    await load.next(isServed);
    await load.stop();
    expect(trap.inAll).toBeGreaterThan(0);
  });

  async function round(): Promise<Round> {
    const load = new OpenLoop({ ...target(), rate: 200, path: lookUp });
    const probing = new OpenLoop({ ...target(), rate: 50, path: () => '/health/live' });
    await load.next(isServed);
    await delay(1_000);
    const killedAt = performance.now();
    await mongod.kill('SIGKILL');
    await delay(AWAY_MS);
    await mongod.restart();
    const backAt = performance.now();
    await load.next(isServed);
    await writable(mongod);
    await delay(500);
    const [lookUps, probes] = await Promise.all([load.stop(), probing.stop()]);
    return { killedAt, backAt, lookUps, probes, holding: await holding() };
  }

  /** Once monitors and pool have settled: after that, equal twice in a row. */
  async function holding(): Promise<Holding> {
    let before: Holding | undefined;
    for (;;) {
      const connections = await connectionsOfService();
      const descriptors = (await descriptorsOf(service.pid)) - connections;
      const pooled = await metric(service, 'mongodb_pool_connections');
      const now = { descriptors, connections: connections - pooled };
      if (before?.descriptors === now.descriptors && before.connections === now.connections) {
        return { ...now, memory: memoryOf(service.pid) };
      }
      before = { ...now, memory: 0 };
      await delay(SETTLE_MS);
    }
  }

  /** As mongod counts them. */
  function connectionsOfService(): Promise<number> {
    return onMember(mongod, 0, async (client) => {
      const all = await client
        .db('admin')
        .aggregate([
          { $currentOp: { allUsers: true, idleConnections: true } },
          { $match: { appName: APP_NAME } },
          { $group: { _id: '$connectionId' } },
        ])
        .toArray();
      return all.length;
    });
  }

  const target = () => ({ port: service.port, key: service.key });
});

function within(from: number, to: number, outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter(({ at }) => at >= from && at < to);
}

function backAfterMs({ backAt, lookUps }: Round): number {
  const served = lookUps.filter((each) => isServed(each) && each.at >= backAt);
  return Math.max(0, Math.min(...served.map(({ at, tookMs }) => at + tookMs)) - backAt);
}
