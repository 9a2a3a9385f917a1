import { Logger } from '@nestjs/common';
import type { Connection } from 'mongoose';
import { setTimeout as delay } from 'node:timers/promises';
import { MARKETS } from '../common/collections.js';
import type { Runner } from '../markets/market.schema.js';
import { demoMarkets, priceOf } from './demo-markets.js';

/** Mean time between two changes. Milliseconds. */
const PAUSE_MS = 200;
const WITHIN_MS = 2_000;

/** The largest move away from a runner's first price, as a share of the smaller of two chances. */
const FURTHEST = 0.05;

/**
 * Moves the prices of the demo's live markets, for as long as the database holds nothing else.
 * @throws AbortError when the signal ends it
 */
export async function moveDemoPrices(
  connection: Connection,
  { pauseMs = PAUSE_MS, signal }: { pauseMs?: number; signal?: AbortSignal } = {},
): Promise<void> {
  const markets = connection.collection(MARKETS);
  const records = demoMarkets();
  const live = records.filter(({ marketMoment }) => marketMoment === 'live');
  // The ids of demo markets are consecutive.
  const others = { _id: { $not: { $gte: records[0]?._id, $lte: records.at(-1)?._id } } };
  const options = { maxTimeMS: WITHIN_MS };
  for (;;) {
    await delay(pauseMs * (0.5 + Math.random()), undefined, { ref: false, signal });
    try {
      if (await markets.findOne(others, { ...options, projection: { _id: 1 } })) {
        new Logger('Demo').log("Other markets are there: the demo's prices stay as they are");
        return;
      }
      // The first fixtures, which a newcomer watches, move most often.
      const { _id, runners } = pick(live, Math.random() ** 2);
      const changes = { runners: withMovedPrices(runners), updatedAt: new Date() };
      await markets.updateOne({ _id }, { $set: changes }, options);
    } catch {
      // While MongoDB is away the next change tries again.
    }
  }
}

/** Adds to one runner's chance what another of the same line loses, so that the provider's margin stays. */
export function withMovedPrices(runners: readonly Runner[]): Runner[] {
  const gaining = pick(runners);
  const losing = pick(runners.filter((one) => one !== gaining && one.line === gaining.line));
  const step = (Math.random() * FURTHEST) / Math.max(gaining.price, losing.price);
  const steps = new Map([
    [gaining, step],
    [losing, -step],
  ]);
  return runners.map((runner) => ({
    ...runner,
    price: priceOf(1 / runner.price + (steps.get(runner) ?? 0)),
  }));
}

function pick<T>(values: readonly T[], chance = Math.random()): T {
  return values[Math.floor(chance * values.length)] as T;
}
