import { MongoClient, type Timestamp } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { WatchedMarkets, type Group } from '../../../test/watch-client.js';
import { readCursor } from '../../../src/markets/watch/cursor.js';

export interface Verdict {
  /** States compared with MongoDB's of the same cluster time. */
  readonly compared: number;
  /** Markets that a caller lacked, had too old, or had though they were gone. */
  readonly lost: number;
  /** Markets that went back to what they were before. */
  readonly doubledBack: number;
  /** Transactions of which a caller was told a part. */
  readonly halfTold: number;
  /** States that MongoDB could not be asked for. */
  readonly unjudged: number;
  /** Answers that name no cluster time: there was no primary, or the majority lagged. Callers get all anew next time. */
  readonly ofNoTime: number;
  readonly examples: readonly string[];
}

export interface Question {
  readonly eventIds: readonly string[];
  readonly filter: Readonly<Record<string, string>>;
  /** Ids of the two markets that change together. */
  readonly pair: readonly string[];
}

const ASK_AGAIN_AFTER_MS = 500;
const TRIES_MAX = 200;

/** Compares what callers have with what MongoDB had at the same cluster time. */
export class Judge {
  private readonly client: MongoClient;
  private readonly pending = new Set<Promise<void>>();
  readonly verdict = {
    compared: 0,
    lost: 0,
    doubledBack: 0,
    halfTold: 0,
    unjudged: 0,
    ofNoTime: 0,
    examples: [] as string[],
  };

  constructor(uri: string) {
    const options = { heartbeatFrequencyMS: 500, serverSelectionTimeoutMS: 5_000 };
    this.client = new MongoClient(uri, { ...options, socketTimeoutMS: 5_000 });
  }

  found(fault: 'lost' | 'doubledBack' | 'halfTold' | 'unjudged', example: string): void {
    this.verdict[fault] += 1;
    if (this.verdict.examples.length < 10) this.verdict.examples.push(`${fault}: ${example}`);
  }

  compare(question: Question, cursor: string, told: ReadonlyMap<string, number>): void {
    const atClusterTime = timeOf(cursor);
    if (!atClusterTime) {
      this.verdict.ofNoTime += 1;
      return;
    }
    const comparing = this.compareNow(question, atClusterTime, told).finally(() =>
      this.pending.delete(comparing),
    );
    this.pending.add(comparing);
  }

  async close(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
    await this.client.close();
  }

  private async compareNow(
    question: Question,
    atClusterTime: Timestamp,
    told: ReadonlyMap<string, number>,
  ): Promise<void> {
    const stored = await this.storedAt(question, atClusterTime);
    if (!stored) return;
    this.verdict.compared += 1;
    for (const id of new Set([...told.keys(), ...stored.keys()])) {
      const [has, should] = [told.get(id), stored.get(id)];
      if (has !== should)
        this.found('lost', `${id} told ${has}, stored ${should}, ${JSON.stringify(question)}`);
    }
  }

  private async storedAt(
    { eventIds, filter }: Question,
    atClusterTime: Timestamp,
  ): Promise<ReadonlyMap<string, number> | undefined> {
    const command = {
      find: 'markets',
      filter: { eventId: { $in: eventIds }, ...filter },
      projection: { 'runners.price': 1, eventId: 1 },
      singleBatch: true,
      batchSize: 5_000,
      readConcern: { level: 'snapshot', atClusterTime },
    };
    let failure: unknown;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      try {
        const { cursor: answer } = await this.client.db().command(command);
        return pricesOf(answer.firstBatch);
      } catch (error) {
        failure = error;
        await delay(ASK_AGAIN_AFTER_MS);
      }
    }
    this.found('unjudged', `${atClusterTime.toBigInt()}, ${String(failure)}`);
    return undefined;
  }
}

interface Priced {
  readonly _id: unknown;
  readonly eventId: string;
  readonly runners: readonly { readonly price: number }[];
}

/** The first price of each market, by event and id. */
function pricesOf(markets: readonly Priced[]): Map<string, number> {
  return new Map(
    markets.map(({ _id, eventId, runners }) => [
      `${eventId} ${String(_id)}`,
      runners[0]?.price ?? NaN,
    ]),
  );
}

/** What one caller has been told. Tells the judge of what may never happen. */
export class ToldState {
  private markets = new WatchedMarkets();
  private readonly highest = new Map<string, number>();

  constructor(
    private readonly question: Question,
    private readonly judge: Judge,
  ) {}

  /** Begins without anything, as a new caller. */
  forget(): void {
    this.markets = new WatchedMarkets();
    this.highest.clear();
  }

  apply(groups: readonly Group[]): void {
    this.markets.apply(groups);
  }

  /** The caller has all of one state now. */
  whole(cursor: string, isCompared: boolean): void {
    const all = this.question.eventIds.flatMap((id) => this.markets.of(`eventId:${id}`));
    const prices = new Map(all.map(({ _id, runners }) => [String(_id), runners[0]?.price ?? NaN]));
    if (timeOf(cursor)) this.compareWithLast(prices, cursor);
    const [one, other] = this.question.pair.map((id) => prices.get(id));
    if (one !== other) this.judge.found('halfTold', `${one} and ${other}, ${cursor}`);
    if (isCompared) this.judge.compare(this.question, cursor, pricesOf(all));
  }

  /** For answers with a cluster time: others may hold writes that a new primary rolls back, or come from a secondary. */
  private compareWithLast(prices: ReadonlyMap<string, number>, cursor: string): void {
    for (const [id, price] of prices) {
      const before = this.highest.get(id) ?? 0;
      if (price < before)
        this.judge.found('doubledBack', `${id} from ${before} to ${price}, ${cursor}`);
      this.highest.set(id, price);
    }
  }
}

function timeOf(cursor: string): Timestamp | undefined {
  const position = readCursor(cursor)?.position;
  return position?.isZero() ? undefined : position;
}
