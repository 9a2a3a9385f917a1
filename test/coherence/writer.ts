import {
  MongoServerError,
  ObjectId,
  type AnyBulkWriteOperation,
  type ClientSession,
  type Collection,
  type Document,
  type MongoClient,
} from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import type { History, Step } from './history.js';
import { storedForm, versionFields, type ModelMarket } from './model-market.js';
import type { Random } from '../random.js';

type StoredMarket = Document & { _id: ModelMarket['id'] };

const MOMENTS = ['live', 'prelive'];
const TYPES = ['BTTS', 'MATCH_ODDS', 'OVER_UNDER', 'a type that nobody knows'];

/** A failed write is sent again after this, in ms, until it is acknowledged. */
const AGAIN_AFTER_MS = 20;

const GIVE_UP_AFTER_MS = 60_000;

const DUPLICATE_KEY = 11_000;

/**
 * Events and fixtures that one writer alone changes, one write after the other: so their history is known.
 * `size` is how many markets it aims at; the first event has half of them.
 */
export interface Plot {
  readonly name: string;
  readonly events: readonly string[];
  readonly fixtures: readonly string[];
  readonly size: number;
}

export function plotOf(name: string, size: number): Plot {
  const ids = (kind: string) => [0, 1, 2].map((index) => `${name}-${kind}/${index}`);
  return { name, events: ids('event'), fixtures: ids('fixture'), size };
}

/**
 * Changes the markets of a plot in all the ways there are, and keeps the history. All writes go through one
 * session with growing transaction numbers, so that one that was given up can't take effect later.
 */
export class Writer {
  private readonly session: ClientSession;
  private readonly collection: Collection<StoredMarket>;
  private made = 0;
  private version = 0;
  /** Acknowledged writes. */
  writes = 0;

  constructor(
    private readonly client: MongoClient,
    database: string,
    readonly plot: Plot,
    private readonly history: History,
    readonly random: Random,
  ) {
    this.session = client.startSession();
    this.collection = client.db(database).collection('markets');
  }

  /** @param withTransactions false on a server that has none */
  async change(withTransactions: boolean): Promise<void> {
    const market = this.own.length > 0 ? this.random.pick(this.own) : undefined;
    const missing = this.plot.size - this.own.length;
    if (!market || this.random.chance(0.04 + missing / this.plot.size / 2)) return this.insert();
    const dice = this.random.below(100);
    if (dice < 45) return this.update(market, {});
    if (dice < 53) return this.update(market, { marketMoment: this.random.pick(MOMENTS) });
    if (dice < 59) return this.update(market, { marketType: this.random.pick(TYPES) });
    if (dice < 65) return this.update(market, { fixtureId: this.random.pick(this.plot.fixtures) });
    if (dice < 71) return this.update(market, { eventId: this.anEvent() });
    if (dice < 75) return this.addEvent(market);
    if (dice < 80) return this.replace(market);
    if (dice < 84) return this.remove(market);
    if (dice < 87) return this.updateInTurn();
    if (!withTransactions) return this.update(market, {});
    if (dice < 96) return this.updatePair();
    return this.updateTogether();
  }

  /** Fills the plot anew, for instance after a drop: in one command, one market after the other. */
  async refill(): Promise<void> {
    const markets = Array.from({ length: this.plot.size }, () => this.aMarket());
    await this.write(
      markets.map((market) => ({ stored: [market] })),
      () => this.collection.insertMany(markets.map(storedForm), { session: this.session }),
    );
  }

  async close(): Promise<void> {
    await this.session.endSession();
  }

  get own(): ModelMarket[] {
    return this.history.current.filter(({ fixtureId }) => this.plot.fixtures.includes(fixtureId));
  }

  private insert(): Promise<void> {
    const market = this.aMarket();
    return this.write([{ stored: [market] }], async (again) => {
      try {
        await this.collection.insertOne(storedForm(market), { session: this.session });
      } catch (error) {
        const isThere = error instanceof MongoServerError && error.code === DUPLICATE_KEY;
        if (!again || !isThere) throw error;
      }
    });
  }

  /** A partial update, as a price feed makes it. */
  private update(market: ModelMarket, fields: Partial<ModelMarket>): Promise<void> {
    const updated = this.next(market, fields);
    return this.write([{ stored: [updated] }], () => this.set(updated, fields));
  }

  private async set(market: ModelMarket, fields: Partial<ModelMarket>): Promise<void> {
    const { matchedCount } = await this.collection.updateOne(
      { _id: market.id },
      { $set: { ...versionFields(market), ...fields } },
      { session: this.session },
    );
    if (matchedCount !== 1) throw new Error(`${String(market.id)} is not where it should be`);
  }

  /** A market under two events: found by each, shown without either. */
  private addEvent(market: ModelMarket): Promise<void> {
    const eventIds = [market.eventId].flat();
    const eventId = this.random.pick(this.plot.events);
    if (typeof market.eventId === 'string') return this.update(market, { eventId: [eventId] });
    const updated = this.next(market, { eventId: [...new Set([...eventIds, eventId])] });
    return this.write([{ stored: [updated] }], async () => {
      await this.collection.updateOne(
        { _id: market.id },
        { $set: versionFields(updated), $addToSet: { eventId } },
        { session: this.session },
      );
    });
  }

  private replace(market: ModelMarket): Promise<void> {
    const replaced = this.next(market, {
      eventId: this.anEvent(),
      fixtureId: this.random.pick(this.plot.fixtures),
      marketMoment: this.random.pick(MOMENTS),
    });
    return this.write([{ stored: [replaced] }], async () => {
      await this.collection.replaceOne({ _id: market.id }, storedForm(replaced), {
        session: this.session,
      });
    });
  }

  private remove(market: ModelMarket): Promise<void> {
    return this.write([{ removed: [market] }], async () => {
      await this.collection.deleteOne({ _id: market.id }, { session: this.session });
    });
  }

  /** Several updates in one command, seen one after the other. */
  private updateInTurn(): Promise<void> {
    const markets = this.own.slice(0, 5).map((market) => this.next(market, {}));
    return this.write(
      markets.map((market) => ({ stored: [market] })),
      () =>
        this.collection.bulkWrite(
          markets.map((market) => ({
            updateOne: { filter: { _id: market.id }, update: { $set: versionFields(market) } },
          })),
          { session: this.session },
        ),
    );
  }

  /** Two markets change together; sometimes one leaves its event as the other comes, or goes for good. */
  private updatePair(): Promise<void> {
    const one = this.random.pick(this.own);
    const other = this.random.pick(this.own);
    if (one === other) return this.update(one, {});
    const swap = this.random.chance(0.3);
    const step: Step = this.random.chance(0.2)
      ? { stored: [this.next(one, {}), this.aMarket()], removed: [other] }
      : {
          stored: [
            this.next(one, swap ? { eventId: other.eventId, fixtureId: other.fixtureId } : {}),
            this.next(other, swap ? { eventId: one.eventId, fixtureId: one.fixtureId } : {}),
          ],
        };
    return this.inTransaction(step);
  }

  /** All markets of the plot change together. */
  private updateTogether(): Promise<void> {
    const marketMoment = this.random.pick(MOMENTS);
    return this.inTransaction({
      stored: this.own.map((market) => this.next(market, { marketMoment })),
    });
  }

  private inTransaction(step: Step): Promise<void> {
    const { stored = [], removed = [] } = step;
    return this.write([step], () =>
      this.session.withTransaction(async () => {
        await this.collection.bulkWrite(
          [
            ...stored.map((market) => this.upsert(market)),
            ...removed.map(({ id }) => ({ deleteOne: { filter: { _id: id } } })),
          ],
          { session: this.session },
        );
      }),
    );
  }

  private upsert(market: ModelMarket): AnyBulkWriteOperation<StoredMarket> {
    const { _id, ...fields } = storedForm(market);
    return this.random.chance(0.5)
      ? { replaceOne: { filter: { _id }, replacement: fields, upsert: true } }
      : { updateOne: { filter: { _id }, update: { $set: fields }, upsert: true } };
  }

  /** Sends a write until it is acknowledged: until then the history takes both outcomes for possible. */
  private async write(
    steps: readonly Step[],
    send: (again: boolean) => Promise<unknown>,
  ): Promise<void> {
    const acknowledged = this.history.begin(steps);
    const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
    for (let again = false; ; again = true) {
      try {
        await send(again);
        break;
      } catch (error) {
        if (!isPassing(error) || performance.now() > giveUpAt) throw error;
        await delay(AGAIN_AFTER_MS);
      }
    }
    acknowledged();
    this.writes += 1;
  }

  private aMarket(): ModelMarket {
    this.made += 1;
    const text = `${this.plot.name}-${this.made}`;
    return {
      id: this.random.pick([text, `𝒳${text}`, `é${text}`, this.number, new ObjectId()]),
      version: (this.version += 1),
      eventId: this.anEvent(),
      fixtureId: this.random.pick(this.plot.fixtures),
      marketMoment: this.random.pick(MOMENTS),
      marketType: this.random.pick(TYPES),
    };
  }

  /** A number that no other writer uses. */
  private get number(): number {
    const plotNumber = Buffer.from(this.plot.name).readUInt8();
    return this.made * 256 + plotNumber + (this.made % 2) / 2;
  }

  private anEvent(): string {
    const [big = '', ...others] = this.plot.events;
    return this.random.chance(0.5) ? big : this.random.pick(others);
  }

  private next(market: ModelMarket, fields: Partial<ModelMarket>): ModelMarket {
    return { ...market, ...fields, version: (this.version += 1) };
  }
}

/** Whether an error is MongoDB's or the network's, as a fault brings them. */
function isPassing(error: unknown): boolean {
  return error instanceof Error && error.name.startsWith('Mongo');
}
