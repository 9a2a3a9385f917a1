import { afterAll, beforeAll, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { aMarket } from '../factories.js';
import { TestMongod } from '../mongo.js';
import { resultOf, startCli } from '../run-cli.js';
import { until } from '../until.js';
import { memoryOf } from './footprint.js';
import { measurementsOf } from './measurements.js';

/** `FEED_SECONDS=600` for the long form. */
const SECONDS = Number(process.env['FEED_SECONDS'] || 30);
const LINES_A_SECOND = 2_000;
const TICK_MS = 5;

const rows = measurementsOf('feed followed');

let mongod: TestMongod;

beforeAll(async () => {
  mongod = await TestMongod.start();
});

afterAll(() => mongod.stop());

function lineOf(marketId: string): string {
  const { createdAt: _createdAt, updatedAt: _updatedAt, ...record } = aMarket({ marketId });
  return `${JSON.stringify(record)}\n`;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
}

it(
  'is in MongoDB as it comes',
  async () => {
    const child = startCli(['markets', 'import', '--json', '--follow', '-'], {
      env: { MONGODB_URI: mongod.uri },
    });
    const ended = resultOf(child);
    const client = await MongoClient.connect(mongod.uri);
    const markets = client.db().collection('markets');
    child.stdin.write(lineOf('first'));
    await until(async () => (await markets.countDocuments()) === 1);
    const memoryBefore = await memoryOf(child.pid ?? 0);

    const sentAt = new Map<string, number>();
    const latencies: number[] = [];
    const changes = markets.watch();
    changes.on('change', (change) => {
      const id = 'fullDocument' in change ? String(change.fullDocument?.['marketId']) : '';
      latencies.push(performance.now() - (sentAt.get(id) ?? Infinity));
      sentAt.delete(id);
    });
    await delay(500);
    const total = SECONDS * LINES_A_SECOND;
    const begin = performance.now();
    for (let sent = 0; sent < total; await delay(TICK_MS)) {
      const due = Math.min(total, ((performance.now() - begin) / 1000) * LINES_A_SECOND);
      const lines: string[] = [];
      for (; sent < due; sent++) {
        sentAt.set(`m${sent}`, performance.now());
        lines.push(lineOf(`m${sent}`));
      }
      child.stdin.write(lines.join(''));
    }
    await until(() => latencies.length >= total);
    const memoryAfter = await memoryOf(child.pid ?? 0);
    child.kill('SIGTERM');
    const { code, stdout } = await ended;
    await changes.close();
    const stored = await markets.countDocuments();
    await client.close();

    const sorted = latencies.toSorted((a, b) => a - b);
    rows.exactly(0, { seen: 'exit code after SIGTERM', measured: code ?? -1 });
    rows.exactly(0, { seen: 'lines lost', measured: total + 1 - stored });
    const { inserted } = JSON.parse(stdout) as { inserted: number };
    rows.exactly(total + 1, { seen: 'markets that the report counts as new', measured: inserted });
    rows.note({
      seen: 'line until seen in a change stream, p50',
      measured: quantile(sorted, 0.5),
      unit: 'ms',
    });
    rows.atMost(150, {
      seen: 'line until seen in a change stream, p99',
      measured: quantile(sorted, 0.99),
      unit: 'ms',
    });
    rows.atMost(100, {
      seen: 'growth of memory',
      measured: memoryAfter - memoryBefore,
      unit: 'MB',
    });
  },
  (SECONDS + 120) * 1_000,
);
