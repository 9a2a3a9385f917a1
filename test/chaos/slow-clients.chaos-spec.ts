import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import type { Load, LoadResult } from '../../bench/load-client.js';
import type { SlowClients, SlowClientsState } from '../../bench/slow-clients.js';
import { marketOf } from '../../bench/bench-markets.js';
import { median } from '../../bench/statistics.js';
import { databaseName } from '../../src/database/driver-options.js';
import { freePort } from '../../src/embedded-mongod/free-port.js';
import { TAKE_MAX } from '../../src/http/input/page.js';
import { TestMongod } from '../mongo.js';
import { startProcess, type ServerProcess } from '../services.js';
import { BenchProcess } from './bench-process.js';
import { memoryOf } from './footprint.js';
import { measurementsOf } from './measurements.js';
import { until } from '../until.js';

const MARKETS = 5_000;
const LARGE_EVENT = 'large';
const LARGE_NAME = 'x'.repeat(20_000);
const ATTACK = { silent: 2_400, dripping: 2_400, notReading: 20 };
const SOCKETS = Object.values(ATTACK).reduce((sum, count) => sum + count);
const RATE = 200;
const SECONDS = 8;
const ROUNDS = 3;

/** What good clients may see beside bad ones, of what they see without, or of what bare `node:http` makes of it. */
const TIMES = 2;

/** Until those who don't read are cut off, with some room. */
const GONE_WITHIN_MS = 25_000;

const rows = measurementsOf('half-open, dripping, slow sockets');

let mongod: TestMongod;
let service: ServerProcess;

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await startProcess(mongod.uri);
  const client = await MongoClient.connect(mongod.uri);
  const markets = client.db(databaseName(mongod.uri)).collection<object>('markets');
  await markets.insertMany(Array.from({ length: MARKETS }, (_, index) => marketOf(index)));
  await markets.insertMany(
    Array.from({ length: TAKE_MAX }, (_, index) => ({
      ...marketOf(MARKETS + index),
      eventId: LARGE_EVENT,
      name: LARGE_NAME,
    })),
  );
  await client.close();
});

afterAll(async () => {
  await service.stop();
  await mongod.stop();
});

type Server = Pick<ServerProcess, 'port' | 'key'>;

function load(good: BenchProcess, { port, key }: Server, seed: number): Promise<LoadResult> {
  const options = {
    workload: 'hot',
    markets: MARKETS,
    conditional: false,
    connections: 64,
  } as const;
  const order: Load = { port, key, ...options, rate: RATE, seconds: SECONDS, seed };
  return good.ask(order);
}

function p99Of({ p99, statuses }: LoadResult): number {
  expect(Object.keys(statuses)).toEqual(['200']);
  return p99;
}

/** What good clients see beside bad ones, and what became of these. */
interface Attack {
  readonly p99: number;
  readonly bad: SlowClientsState;
}

async function attack(good: BenchProcess, server: Server, seed: number): Promise<Attack> {
  const bad = new BenchProcess('slow-clients.js');
  try {
    const path = `/v1/markets/market/provider/${LARGE_EVENT}?take=${TAKE_MAX}`;
    const { port, key } = server;
    await bad.ask({ port, key, path, ...ATTACK } satisfies SlowClients);
    const p99 = p99Of(await load(good, server, seed));
    const givesUpAt = performance.now() + GONE_WITHIN_MS;
    let state = await bad.ask<SlowClientsState>('state');
    // A socket that is not read does not see that it was closed.
    while (state.open > ATTACK.notReading && performance.now() < givesUpAt) {
      await delay(200);
      state = await bad.ask<SlowClientsState>('state');
    }
    expect(state.opened).toBe(SOCKETS);
    return { p99, bad: state };
  } finally {
    await bad.stop();
  }
}

/** The least that a server can do: what it does not reach, no service on `node:http` can. */
async function startBare(): Promise<BenchProcess & Server> {
  const port = await freePort();
  const bare = new BenchProcess('ready-bytes.js', [String(port)]);
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return Object.assign(bare, { port, key: 'none' });
}

it('cuts them off in time, and good clients hardly notice', async () => {
  const good = new BenchProcess('load-client.js');
  const bare = await startBare();
  const idle: number[] = [];
  const [ours, bares]: [Attack[], Attack[]] = [[], []];
  let most = 0;
  const memory = setInterval(() => (most = Math.max(most, memoryOf(service.pid))), 200);
  try {
    // Warms them up: only later must every answer be good.
    for (const server of [service, bare]) await load(good, server, 1);
    const before = memoryOf(service.pid);
    for (let round = 0; round < ROUNDS; round++) {
      const seed = 2 * round;
      idle.push(p99Of(await load(good, service, seed)));
      ours.push(await attack(good, service, seed + 1));
      bares.push(await attack(good, bare, seed + 1));
    }
    rows.note({ seen: 'sockets at a time', measured: SOCKETS });
    rows.atLeast(0.98 * (ATTACK.silent + ATTACK.dripping), {
      seen: 'answered 408',
      measured: Math.min(...ours.map(({ bad }) => bad.timedOut)),
    });
    rows.atMost(8, {
      seen: 'until a half-open one is closed',
      measured: Math.max(...ours.map(({ bad }) => bad.longest)) / 1000,
      unit: 's',
    });
    rows.note({ seen: 'memory before', measured: before, unit: 'MB' });
    rows.atMost(before + 300, { seen: 'memory meanwhile', measured: most, unit: 'MB' });
    const bareP99 = median(bares.map(({ p99 }) => p99));
    const unit = 'ms';
    rows.note({ seen: 'p99 of good clients, idle', measured: median(idle), unit });
    rows.note({ seen: 'p99 of good clients of bare node:http meanwhile', measured: bareP99, unit });
    rows.atMostIfPossible(TIMES * median(idle), TIMES * bareP99, {
      seen: 'p99 of good clients meanwhile',
      measured: median(ours.map(({ p99 }) => p99)),
      unit,
    });
  } finally {
    clearInterval(memory);
    await bare.stop();
    await good.stop();
  }
});
