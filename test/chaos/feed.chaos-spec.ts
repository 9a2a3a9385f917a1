import { afterAll, beforeAll, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { EventStream, type StreamListener } from '../../bench/watch/event-stream.js';
import { aRecord, ndjson } from '../imports.js';
import { onMember } from '../mongo-admin.js';
import { TestMongod } from '../mongo.js';
import { resultOf, startCli } from '../run-cli.js';
import { startProcess, type ServerProcess } from '../services.js';
import { until } from '../until.js';
import { memoryOf } from './footprint.js';
import { measurementsOf } from './measurements.js';

/** `FEED_SECONDS=600` for the long form. */
const SECONDS = Number(process.env['FEED_SECONDS'] || 30);
const LINES_A_SECOND = 2_000;
const LINES = SECONDS * LINES_A_SECOND;
const TICK_MS = 5;
const WARM_UP_MS = 5_000;
/** As many as a stream may watch. */
const EVENTS = 50;
/** Each has a line every four seconds: none is passed over for a newer one, even if something stands still a while. */
const MARKETS = 8_000;

const RECORD = aRecord();
const MARK = /"name":"line (\d+)"/g;

const rows = measurementsOf('feed followed');

let mongod: TestMongod;
let service: ServerProcess;

beforeAll(async () => {
  mongod = await TestMongod.start();
  await onMember(mongod, 0, takeUsualSizes);
  service = await startProcess(mongod.uri);
});

afterAll(async () => {
  await service.stop();
  await mongod.stop();
});

/**
 * The smallest oplog that MongoDB takes by itself, and the cache of a small server. With the oplog of the embedded one
 * MongoDB soon has to delete an image for each that it writes.
 */
async function takeUsualSizes(client: MongoClient): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ replSetResizeOplog: 1, size: 990 });
  const wiredTigerEngineRuntimeConfig = 'cache_size=1GB';
  await admin.command({ setParameter: 1, wiredTigerEngineRuntimeConfig });
}

function lineOf(number: number): string {
  const market = number % MARKETS;
  const ids = { eventId: `e${market % EVENTS}`, marketId: `m${market}` };
  return `${JSON.stringify({ ...RECORD, ...ids, name: `line ${number}` })}\n`;
}

/** Resolves with a stream of all events when it is current. */
async function openStream(told: (line: number) => void): Promise<EventStream> {
  let stream: EventStream | undefined;
  // A service that has just begun refuses while it is not known to be current.
  await until(async () => (stream = await tryStream(told).catch(() => undefined)) !== undefined);
  if (!stream) throw new Error('no stream');
  return stream;
}

function tryStream(told: (line: number) => void): Promise<EventStream> {
  const ids = Array.from({ length: EVENTS }, (_, event) => `eventId=e${event}`);
  const { port, key } = service;
  const path = `/v1/markets/stream?${ids.join('&')}`;
  return new Promise((resolve, reject) => {
    const listener: StreamListener = {
      opened: () => undefined,
      retry: () => undefined,
      event: ({ name, data }) => {
        if (name === 'current') resolve(stream);
        for (const [, line] of data.matchAll(MARK)) told(Number(line));
      },
      closed: (status) => reject(new Error(`The stream ended after ${status}`)),
    };
    const stream = new EventStream({ port, key, path, lastId: undefined }, listener);
  });
}

it(
  'is in MongoDB, and told by another process, as it comes',
  async () => {
    const sentAt = new Float64Array(LINES);
    const latencies = new Float64Array(LINES).fill(Infinity);
    let told = 0;
    const stream = await openStream((line) => {
      latencies[line] = performance.now() - (sentAt[line] ?? 0);
      told++;
    });
    const client = await MongoClient.connect(mongod.uri);
    const markets = client.db().collection('markets');
    const env = { MONGODB_URI: mongod.uri };
    const child = startCli(['markets', 'import', '--json', '--follow', '-'], { env });
    const ended = resultOf(child);
    child.stdin.write(`${ndjson(aRecord())}\n`);
    await until(async () => (await markets.countDocuments()) === 1);

    let memoryBefore = 0;
    const begin = performance.now();
    for (let sent = 0; sent < LINES; await delay(TICK_MS)) {
      const elapsedMs = performance.now() - begin;
      if (elapsedMs > WARM_UP_MS) memoryBefore ||= memoryOf(child.pid ?? 0);
      const due = Math.min(LINES, (elapsedMs / 1000) * LINES_A_SECOND);
      const lines: string[] = [];
      for (; sent < due; sent++) {
        sentAt[sent] = performance.now();
        lines.push(lineOf(sent));
      }
      child.stdin.write(lines.join(''));
    }
    await until(() => told >= LINES, 90_000).catch(() => undefined);
    const memoryAfter = memoryOf(child.pid ?? 0);
    child.kill('SIGTERM');
    const { code, stdout } = await ended;
    stream.close();
    const newest = Array.from({ length: MARKETS }, (_, index) => `line ${LINES - 1 - index}`);
    const stored = await markets.countDocuments({ name: { $in: newest } });
    await client.close();

    const { inserted, updated } = JSON.parse(stdout) as { inserted: number; updated: number };
    rows.exactly(0, { seen: 'exit code after SIGTERM', measured: code ?? -1 });
    rows.exactly(LINES + 1, { seen: 'lines that the report counts', measured: inserted + updated });
    rows.exactly(0, { seen: 'markets without their last line', measured: MARKETS - stored });
    rows.exactly(0, { seen: 'lines that the stream did not tell', measured: LINES - told });
    const sorted = latencies.toSorted();
    const quantile = (share: number) => sorted[Math.floor(LINES * share)] ?? Infinity;
    const seen = 'line until told by `/stream` of another process';
    rows.note({ seen: `${seen}, p50`, measured: quantile(0.5), unit: 'ms' });
    rows.atMost(150, { seen: `${seen}, p99`, measured: quantile(0.99), unit: 'ms' });
    rows.note({ seen: `${seen}, longest`, measured: quantile(1 - 1 / LINES), unit: 'ms' });
    rows.atMost(100, {
      seen: 'growth of memory',
      measured: memoryAfter - memoryBefore,
      unit: 'MB',
    });
  },
  (SECONDS + 120) * 1_000,
);
