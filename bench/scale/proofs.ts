import { setTimeout as delay } from 'node:timers/promises';
import { LOADED_AT_ASK } from '../../src/markets/cache/load-candidates.js';
import { eventIdOf, marketIdOf, MARKETS_PER_EVENT } from '../bench-markets.js';
import type { Reply } from '../http-connection.js';
import { popularEvents } from '../workloads.js';
import { Caller } from './caller.js';
import type { IssuedKey, Stage } from './stage.js';

/** How a write came to be seen by the slowest of the instances, in milliseconds after MongoDB had confirmed it. */
export interface Sighting {
  /** When the first answer arrived that knew of it. */
  readonly arrived: number;
  /** When the last request began whose answer did not: what is promised is about this. */
  readonly lastOutdated: number;
}

/** Each instance is asked again so soon. */
const ASK_EVERY_MS = 2;

/** What never shows is not awaited longer than this. */
const GIVE_UP_AFTER_MS = 10_000;

/** Revokes keys that every instance has just accepted. */
export async function measureRevocations(
  stage: Stage,
  ports: readonly number[],
  times: number,
): Promise<Sighting[]> {
  const target = targetOf(0);
  return withCallers(ports, async (callers) => {
    const sightings: Sighting[] = [];
    for (let time = 0; time < times; time++) {
      const issued = await stage.issueKey();
      await Promise.all(callers.map((each) => see(each, target, issued.key, isAccepted)));
      await stage.revoke(issued);
      sightings.push(await slowest(callers, (each) => see(each, target, issued.key, isRefused)));
    }
    return sightings;
  });
}

/** Changes prices of events that every instance has in memory. */
export async function measurePriceChanges(
  stage: Stage,
  ports: readonly number[],
  { key }: IssuedKey,
  times: number,
): Promise<Sighting[]> {
  const events = popularEvents(stage.markets).slice(0, 10);
  return withCallers(ports, async (callers) => {
    const sightings: Sighting[] = [];
    for (let time = 0; time < times; time++) {
      const event = events[time % events.length] ?? 0;
      const target = targetOf(event);
      const before = await Promise.all(callers.map((each) => remember(each, target, key)));
      await stage.collection.updateOne(
        { _id: marketIdOf(event * MARKETS_PER_EVENT) },
        { $set: { 'runners.0.price': 2 + time / 1_000, updatedAt: new Date() } },
      );
      sightings.push(
        await slowest(callers, (each, index) =>
          see(each, target, key, ({ etag }) => etag !== before[index]),
        ),
      );
    }
    return sightings;
  });
}

function isAccepted({ status }: Reply): boolean {
  return status === 200;
}

function isRefused({ status }: Reply): boolean {
  return status === 401;
}

function targetOf(event: number): string {
  return `/v1/markets/market/provider/${eventIdOf(event)}`;
}

/** Asks until the event is in memory. @returns the ETag of its answer */
async function remember(caller: Caller, target: string, key: string): Promise<string | undefined> {
  for (let ask = 1; ask < LOADED_AT_ASK; ask++) await caller.ask(target, key);
  return (await caller.ask(target, key)).etag;
}

/** Asks until an answer is as it should be. */
async function see(
  caller: Caller,
  target: string,
  key: string,
  isSo: (reply: Reply) => boolean,
): Promise<Sighting> {
  const startedAt = performance.now();
  for (let lastOutdated = 0; ; await delay(ASK_EVERY_MS)) {
    const began = performance.now() - startedAt;
    if (isSo(await caller.ask(target, key))) {
      return { arrived: performance.now() - startedAt, lastOutdated };
    }
    lastOutdated = began;
    if (began > GIVE_UP_AFTER_MS) throw new Error(`Waited in vain until ${isSo.toString()}`);
  }
}

async function slowest(
  callers: readonly Caller[],
  look: (caller: Caller, index: number) => Promise<Sighting>,
): Promise<Sighting> {
  const sightings = await Promise.all(callers.map(look));
  return {
    arrived: Math.max(...sightings.map(({ arrived }) => arrived)),
    lastOutdated: Math.max(...sightings.map(({ lastOutdated }) => lastOutdated)),
  };
}

async function withCallers<T>(
  ports: readonly number[],
  work: (callers: readonly Caller[]) => Promise<T>,
): Promise<T> {
  const callers = ports.map((port) => new Caller(port));
  try {
    return await work(callers);
  } finally {
    for (const caller of callers) caller.close();
  }
}
