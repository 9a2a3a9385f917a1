import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, type Collection, type Document } from 'mongodb';
import { aMarket } from './factories.js';
import { testDatabaseUri } from './mongo.js';
import { runCli, startCli } from './run-cli.js';

/** How often the import is killed: a few times in the suite, more on request. */
const KILLS = Number(process.env['IMPORT_KILLS'] ?? 5);
const RECORDS = 3_000;
const RUNNERS = 6;

/** Between two looks at all markets: without it the import would get too little of a small machine. */
const WATCH_PAUSE_MS = 20;

const uri = testDatabaseUri();
const env = { MONGODB_URI: uri };
let folder: string;
let client: MongoClient;
let markets: Collection;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markets-kill-'));
  client = await MongoClient.connect(uri);
  markets = client.db().collection('markets');
});

afterAll(async () => {
  await client.db().dropDatabase();
  await client.close();
  await rm(folder, { recursive: true });
});

/** The same markets in edition 1 and 2: a mixture of both would show in every field. */
function edition(number: 1 | 2): Document[] {
  return Array.from({ length: RECORDS }, (_market, i) =>
    aMarket({
      marketId: `m${i}`,
      eventId: `e${i % 100}`,
      name: `Edition ${number}`,
      fixtureId: `fixture-${number}`,
      createdAt: dateOf(1),
      updatedAt: dateOf(number),
      runners: Array.from({ length: RUNNERS }, (_runner, r) => ({
        runnerId: `r${r}`,
        name: `Runner of ${number}`,
        price: number + 1,
      })),
    }),
  );
}

function dateOf(number: 1 | 2): Date {
  return new Date(`2026-11-2${number}T07:03:00.000Z`);
}

/** A filter for the markets that are all of one edition. */
function whole(number: 1 | 2) {
  return {
    name: `Edition ${number}`,
    fixtureId: `fixture-${number}`,
    updatedAt: dateOf(number),
    runners: { $size: RUNNERS, $not: { $elemMatch: { price: { $ne: number + 1 } } } },
  };
}

/** Reads all the time, and returns what no reader may ever see. */
async function watchForMixtures(signal: AbortSignal): Promise<unknown[]> {
  const mixtures: unknown[] = [];
  while (!signal.aborted) {
    mixtures.push(...(await markets.find({ $nor: [whole(1), whole(2)] }).toArray()));
    await delay(WATCH_PAUSE_MS);
  }
  return mixtures;
}

/** Starts an import and kills it when it has written some markets; returns whether it was still at work. */
async function killInMidst(file: string): Promise<boolean> {
  const changes = markets.watch();
  // Opens the stream, so that no change is missed.
  await changes.tryNext();
  const child = startCli(['markets', 'import', file], { env });
  const exited = once(child, 'exit');
  const enough = 1 + Math.floor(Math.random() * RECORDS * 0.7);
  for (let written = 0; written < enough; written++) await changes.next();
  child.kill('SIGKILL');
  const [, signal] = await exited;
  await changes.close();
  return signal === 'SIGKILL';
}

function inOrder(documents: readonly Document[]): Document[] {
  return documents.toSorted((a, b) => (a['marketId'] < b['marketId'] ? -1 : 1));
}

async function convergeAfterKills(): Promise<void> {
  const file = join(folder, 'second.ndjson');
  const second = edition(2);
  await writeFile(file, second.map((record) => JSON.stringify(record)).join('\n'));
  let inMidst = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    await markets.deleteMany({});
    if (kill % 2 === 1) await markets.insertMany(edition(1));

    if (await killInMidst(file)) inMidst++;
    const { stdout } = await runCli(['markets', 'import', '--json', file], { env });

    const { read, inserted, updated, unchanged, rejected } = JSON.parse(stdout);
    expect({ read, rejected }).toEqual({ read: RECORDS, rejected: 0 });
    expect(inserted + updated + unchanged).toBe(RECORDS);
    const stored = await markets.find({}, { projection: { _id: 0 } }).toArray();
    expect(inOrder(stored)).toEqual(inOrder(second));
  }
  // A kill that came too late would have shown nothing.
  expect(inMidst).toBeGreaterThan(0);
}

it(
  `converges after ${KILLS} kills, and shows nobody half a market`,
  async () => {
    const watch = new AbortController();
    const watcher = watchForMixtures(watch.signal);
    try {
      await convergeAfterKills();
    } finally {
      watch.abort();
    }
    expect(await watcher).toEqual([]);
  },
  KILLS * 60_000,
);
