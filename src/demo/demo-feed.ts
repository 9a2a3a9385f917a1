import { Logger, type INestApplicationContext } from '@nestjs/common';
import { getModelToken } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
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
  private timer: NodeJS.Timeout | undefined;
  hasStopped = false;

  constructor(
    app: INestApplicationContext,
    private readonly pauseMs = PAUSE_MS,
  ) {
    this.markets = app.get<Model<Market>>(getModelToken(Market.name));
    this.schedule();
  }

  stop(): void {
    this.hasStopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.hasStopped) return;
    const pause = this.pauseMs * (0.5 + Math.random());
    this.timer = setTimeout(() => void this.change(), pause).unref();
  }

  private async change(): Promise<void> {
    try {
      if (await this.othersAreThere()) {
        this.stop();
        new Logger('Demo').log("Other markets are there: the demo's prices stay as they are");
      } else if (!this.hasStopped) {
        await this.moveOne();
      }
    } catch {
      // MongoDB is away: the next change tries again.
    }
    this.schedule();
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
