import { expect } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, type Collection, type Document } from 'mongodb';
import { aMarket } from './factories.js';
import { ndjson } from './imports.js';
import { runCli, startCli } from './run-cli.js';

const RECORDS = 1_500;
const RUNNERS = 6;

/** Between two looks at all markets: without it the import would get too little of a small machine. */
const WATCH_PAUSE_MS = 20;

/** What was found when an import was killed over and over. */
export interface Kills {
  /** Kills that came before the import was done: others show nothing. */
  readonly inMidst: number;
  /** How often a reader read all markets meanwhile, and the states it saw that it may never see. */
  readonly looks: number;
  readonly mixtures: readonly unknown[];
}

/** Kills imports in their midst, runs each again, and compares what is then there with what was imported. */
export async function killImports(uri: string, kills: number): Promise<Kills> {
  const folder = await mkdtemp(join(tmpdir(), 'markets-kill-'));
  const client = await MongoClient.connect(uri);
  const markets = client.db().collection('markets');
  const watch = new AbortController();
  const watcher = watchForMixtures(markets, watch.signal);
  try {
    const inMidst = await convergeAfterKills(markets, join(folder, 'second.ndjson'), {
      uri,
      kills,
    });
    watch.abort();
    return { inMidst, ...(await watcher) };
  } finally {
    watch.abort();
    await watcher;
    await client.db().dropDatabase();
    await client.close();
    await rm(folder, { recursive: true });
  }
}

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
async function watchForMixtures(markets: Collection, signal: AbortSignal) {
  const mixtures: unknown[] = [];
  let looks = 0;
  while (!signal.aborted) {
    looks++;
    mixtures.push(...(await markets.find({ $nor: [whole(1), whole(2)] }).toArray()));
    await delay(WATCH_PAUSE_MS);
  }
  return { looks, mixtures };
}

/** Starts an import and kills it when it has written some markets; returns whether it was still at work. */
async function killInMidst(
  markets: Collection,
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
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

async function convergeAfterKills(
  markets: Collection,
  file: string,
  { uri, kills }: { readonly uri: string; readonly kills: number },
): Promise<number> {
  const env = { MONGODB_URI: uri };
  const second = edition(2);
  await writeFile(file, ndjson(...second));
  let inMidst = 0;
  for (let kill = 0; kill < kills; kill++) {
    await markets.deleteMany({});
    if (kill % 2 === 1) await markets.insertMany(edition(1));

    if (await killInMidst(markets, file, env)) inMidst++;
    const { stdout } = await runCli(['markets', 'import', '--json', file], { env });

    const { read, inserted, updated, unchanged, rejected } = JSON.parse(stdout);
    expect({ read, rejected }).toEqual({ read: RECORDS, rejected: 0 });
    expect(inserted + updated + unchanged).toBe(RECORDS);
    const stored = await markets.find({}, { projection: { _id: 0 } }).toArray();
    expect(inOrder(stored)).toEqual(inOrder(second));
  }
  return inMidst;
}
