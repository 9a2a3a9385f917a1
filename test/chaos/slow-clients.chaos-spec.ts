import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import type { Load, LoadReply, LoadResult } from '../../bench/load-client.js';
import type { SlowClients, SlowClientsState } from '../../bench/slow-clients.js';
import { marketOf } from '../../bench/bench-markets.js';
import { median } from '../../bench/statistics.js';
import { databaseName } from '../../src/database/database.js';
import { TestMongod } from '../mongo.js';
import { startProcess, type ServiceProcess } from '../services.js';
import { BenchProcess } from './bench-process.js';
import { measurementsOf } from './measurements.js';

const MARKETS = 5_000;
const ATTACK = { silent: 2_400, dripping: 2_400, notReading: 200 };
const RATE = 200;
const SECONDS = 8;
const ROUNDS = 3;

/** Until those who don't read are cut off, with some room. */
const GONE_WITHIN_MS = 25_000;

const rows = measurementsOf('half-open, dripping, slow sockets');

let mongod: TestMongod;
let service: ServiceProcess;

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await startProcess(mongod.uri);
  const client = await MongoClient.connect(mongod.uri);
  const markets = client.db(databaseName(mongod.uri)).collection<object>('markets');
  await markets.insertMany(Array.from({ length: MARKETS }, (_, index) => marketOf(index)));
  await client.close();
});

afterAll(async () => {
  await service.stop();
  await mongod.stop();
});

function memoryMb(): number {
  const kib = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1];
  return Number(kib ?? NaN) / 1024;
}

async function load(good: BenchProcess, seed: number): Promise<LoadResult> {
  const { port, key } = service;
  const options = {
    workload: 'hot',
    markets: MARKETS,
    conditional: false,
    connections: 64,
  } as const;
  const order: Load = { port, key, ...options, rate: RATE, seconds: SECONDS, seed };
  const reply = await good.ask<LoadReply>(order);
  if ('failure' in reply) throw new Error(reply.failure);
  return reply.result;
}

function p99Of({ p99, statuses }: LoadResult): number {
  expect(Object.keys(statuses)).toEqual(['200']);
  return p99;
}

it('cuts them off in time, and good clients hardly notice', async () => {
  const good = new BenchProcess('load-client.js');
  const idle: number[] = [];
  const attacked: number[] = [];
  let most = 0;
  let timedOut = 0;
  let longest = 0;
  try {
    // Warms the service up: only later must every answer be good.
    await load(good, 1);
    const before = memoryMb();
    for (let round = 0; round < ROUNDS; round++) {
      idle.push(p99Of(await load(good, 2 * round)));
      const bad = new BenchProcess('slow-clients.js');
      const { port, key } = service;
      const path = '/v1/markets/market/provider/ev-0000001?take=100';
      bad.send({ port, key, path, ...ATTACK } satisfies SlowClients);
      const opened = Object.values(ATTACK).reduce((sum, count) => sum + count);
      const memory = setInterval(() => (most = Math.max(most, memoryMb())), 200);
      attacked.push(p99Of(await load(good, 2 * round + 1)));
      clearInterval(memory);
      const givesUpAt = performance.now() + GONE_WITHIN_MS;
      let state = await bad.ask<SlowClientsState>('state');
      // A socket that is not read does not see that it was closed.
      while (state.open > ATTACK.notReading && performance.now() < givesUpAt) {
        await delay(200);
        state = await bad.ask<SlowClientsState>('state');
      }
      expect(state.opened).toBe(opened);
      timedOut = state.timedOut;
      longest = Math.max(longest, state.longest);
      await bad.stop();
    }
    rows.note({
      seen: 'sockets at a time',
      measured: Object.values(ATTACK).reduce((a, b) => a + b),
    });
    rows.atLeast(0.98 * (ATTACK.silent + ATTACK.dripping), {
      seen: 'answered 408',
      measured: timedOut,
    });
    rows.atMost(8, {
      seen: 'until a half-open one is closed',
      measured: longest / 1000,
      unit: 's',
    });
    rows.note({ seen: 'p99 of good clients, idle', measured: median(idle), unit: 'ms' });
    rows.note({ seen: 'memory before', measured: before, unit: 'MB' });
    rows.atMost(before + 300, { seen: 'memory meanwhile', measured: most, unit: 'MB' });
    rows.atMost(2 * median(idle), {
      seen: 'p99 of good clients meanwhile',
      measured: median(attacked),
      unit: 'ms',
    });
  } finally {
    await good.stop();
  }
});
