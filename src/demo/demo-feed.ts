import { Logger, type INestApplicationContext } from '@nestjs/common';
import { getModelToken } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { setTimeout as delay } from 'node:timers/promises';
import { Market } from '../markets/market.schema.js';
import { demoMarkets } from './demo-markets.js';
import { PriceWalk } from './price-walk.js';

/** Mean time between two changes. Milliseconds. */
const PAUSE_MS = 200;
const WRITE_WITHIN_MS = 2_000;

/** Moves the prices of the demo's live markets, for as long as the database holds nothing else. */
export class DemoFeed {
  private readonly markets: Model<Market>;
  private readonly records = demoMarkets();
  private readonly walks = this.records
    .filter(({ marketMoment }) => marketMoment === 'live')
    .map((market) => ({ _id: market._id, walk: new PriceWalk(market) }));
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
    const chosen = this.walks[Math.floor(Math.random() ** 2 * this.walks.length)];
    const moves = chosen?.walk.step() ?? [];
    if (!chosen || moves.length === 0) return;
    const prices = moves.map(({ price }, index) => [`runners.$[runner${index}].price`, price]);
    const arrayFilters = moves.map(({ runnerId }, index) => ({
      [`runner${index}.runnerId`]: runnerId,
    }));
    await this.markets.collection.updateOne(
      { _id: chosen._id },
      { $set: { ...Object.fromEntries(prices), updatedAt: new Date() } },
      { arrayFilters, maxTimeMS: WRITE_WITHIN_MS },
    );
  }
}
