import { MongoClient } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { marketIdOf } from '../bench-markets.js';
import { quantile } from '../statistics.js';
import type { Quantiles, WriteOrder } from './crowd-orders.js';

interface Write {
  readonly begunAt: number;
  acknowledgedAt: number | undefined;
}

const MARK = /"name":"change (\d+)"/g;

/** Writes marked changes, one by one, and measures how long each takes to every stream that tells it. */
export class MarkedWriter {
  private readonly writes: Write[] = [];
  private sinceAcknowledged: number[] = [];
  private sinceBegun: number[] = [];

  async write({ uri, markets, perSecond, seconds }: WriteOrder): Promise<void> {
    const client = await MongoClient.connect(uri);
    const collection = client.db().collection('markets');
    const change = async (number: number) => {
      const write: Write = { begunAt: performance.now(), acknowledgedAt: undefined };
      const name = `change ${this.writes.push(write) - 1}`;
      await collection.updateOne(
        { _id: marketIdOf(number) },
        { $set: { name, updatedAt: new Date() } },
      );
      write.acknowledgedAt = performance.now();
    };
    const startedAt = performance.now();
    const all: Promise<void>[] = [];
    while (all.length < perSecond * seconds) {
      const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
      while (all.length < due) all.push(change(markets[all.length % markets.length] ?? 0));
      await delay(2);
    }
    await Promise.all(all);
    await client.close();
  }

  /**
   * @param data of an event that has just arrived
   * @param told the marks that this stream has told: another change of the same market tells its mark again
   */
  arrived(data: string, told: Set<string>): void {
    const now = performance.now();
    for (const [, number = ''] of data.matchAll(MARK)) {
      const write = this.writes[Number(number)];
      if (!write || told.has(number)) continue;
      told.add(number);
      this.sinceBegun.push(now - write.begunAt);
      this.sinceAcknowledged.push(now - (write.acknowledgedAt ?? now));
    }
  }

  report(): { sinceAcknowledged: Quantiles; sinceBegun: Quantiles } {
    const { sinceAcknowledged, sinceBegun } = this;
    [this.sinceAcknowledged, this.sinceBegun] = [[], []];
    return {
      sinceAcknowledged: quantilesOf(sinceAcknowledged),
      sinceBegun: quantilesOf(sinceBegun),
    };
  }
}

function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((one, other) => one - other);
  return { count: sorted.length, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}
