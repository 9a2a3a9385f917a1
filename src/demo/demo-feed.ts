import { Logger, type INestApplicationContext } from '@nestjs/common';
import { getModelToken } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { setTimeout as delay } from 'node:timers/promises';
import { Market, type Runner } from '../markets/market.schema.js';
import { demoMarkets, priceOf } from './demo-markets.js';

/** Mean time between two changes. Milliseconds. */
const PAUSE_MS = 200;
const WRITE_WITHIN_MS = 2_000;

/** The largest move away from a runner's first price, as a share of the smaller of two chances. */
const FURTHEST = 0.05;

/** Moves the prices of the demo's live markets, for as long as the database holds nothing else. */
export class DemoFeed {
  private readonly markets: Model<Market>;
  private readonly records = demoMarkets();
  private readonly live = this.records.filter(({ marketMoment }) => marketMoment === 'live');
  /** Set to end it. */
  hasStopped = false;

  constructor(app: INestApplicationContext) {
    this.markets = app.get<Model<Market>>(getModelToken(Market.name));
  }

  async run(pauseMs = PAUSE_MS): Promise<void> {
    while (!this.hasStopped) {
      await delay(pauseMs * (0.5 + Math.random()), undefined, { ref: false });
      // While MongoDB is away the next change tries again.
      await this.change().catch(() => undefined);
    }
  }

  private async change(): Promise<void> {
    if (await this.othersAreThere()) {
      this.hasStopped = true;
      new Logger('Demo').log("Other markets are there: the demo's prices stay as they are");
    } else if (!this.hasStopped) {
      await this.moveOne();
    }
  }

  /** Demo markets have ids in a row of their own. */
  private async othersAreThere(): Promise<boolean> {
    const range = { $gte: this.records[0]?._id, $lte: this.records.at(-1)?._id };
    const other = this.markets.collection.findOne(
      { _id: { $not: range } },
      { projection: { _id: 1 }, maxTimeMS: WRITE_WITHIN_MS },
    );
    return (await other) !== null;
  }

  private async moveOne(): Promise<void> {
    // The first fixtures, which a newcomer watches, move most often.
    const { _id, runners } = pick(this.live, Math.random() ** 2);
    await this.markets.collection.updateOne(
      { _id },
      { $set: { runners: withMovedPrices(runners), updatedAt: new Date() } },
      { maxTimeMS: WRITE_WITHIN_MS },
    );
  }
}

/** What one runner's chance gains, another one's of the same line loses: the provider's margin stays. */
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
