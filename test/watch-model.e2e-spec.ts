import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MongoClient, type Collection, type Document } from 'mongodb';
import { StreamTimes } from '../src/markets/watch/stream-times.js';
import type { Market } from '../src/markets/market.schema.js';
import { initDatabase } from '../src/database/init.js';
import { allTold, createTestApp, type TestApp } from './app.js';
import { aMarket } from './factories.js';
import { setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { Random, SEED } from './random.js';
import { until } from './until.js';
import { StreamClient, type StreamEvent, WatchedMarkets, type Group } from './watch-client.js';

const ROUNDS = Number(process.env['WATCH_MODEL_ROUNDS'] ?? 3);
const WRITES = 30;
const IDS = ['a', 'b', 'c'];
const SCOPES = IDS.flatMap((id) => [`eventId=${id}`, `fixtureId=${id}`]);

let mongod: TestMongod;
let client: MongoClient;
let replicas: TestApp[];

const random = new Random(SEED);

async function aReplica(dbInit = false): Promise<TestApp> {
  const replica = await createTestApp({ mongodbUri: mongod.uri, dbInit });
  replica.app.get(StreamTimes).tellEveryMs = 100;
  return replica;
}

beforeAll(async () => {
  mongod = await TestMongod.start();
  client = await new MongoClient(mongod.uri).connect();
  replicas = [await aReplica(true), await aReplica()];
  await made();
});
afterAll(async () => {
  for (const replica of replicas) await replica.close();
  await client.close();
  await mongod.stop();
});

const markets = (): Collection => client.db().collection('markets');

/** Resolves when every replica knows that the collection was made: resumes from before that begin with a reset. */
async function made(): Promise<void> {
  for (const { database } of replicas) await initDatabase(database.connection);
  await Promise.all(replicas.map((replica) => allTold(replica)));
}

const isCurrent = ({ event }: StreamEvent) => event === 'current';

/** A caller that watches some ids with some filter, by a stream or by asking, at whatever replica. */
class Caller {
  private readonly markets = new WatchedMarkets();
  private stream: StreamClient | undefined;
  private cursor: string | undefined;
  /** The collection became another since it was told. */
  mayBeReset = false;

  constructor(
    private readonly ids: readonly string[],
    private readonly live: boolean,
    private readonly streams: boolean,
  ) {}

  /** Breaks off, and goes on from where it was, elsewhere. */
  async goOn(): Promise<void> {
    if (!this.streams) return;
    await this.breakOff();
    // A busy replica may refuse it, or one that has only begun: callers try again.
    for (;;) {
      const { url, key } = random.pick(replicas);
      const headers = { 'X-API-Key': key, ...(this.cursor && { 'Last-Event-ID': this.cursor }) };
      const path = `/v1/markets/stream?${this.query}`;
      this.stream = await StreamClient.open(url + path, headers, this.markets);
      if (this.stream.response.statusCode === 200) return;
    }
  }

  /** What it had been told with the last id is where it goes on from. */
  async breakOff(): Promise<void> {
    if (!this.stream) return;
    this.stream.close();
    await this.stream.over();
    const resumed = this.stream.events.filter(({ event, id }) => event === 'changes' && !id);
    if (this.cursor && !this.mayBeReset)
      told.push(...resumed.flatMap(({ data }) => data.data ?? []));
    this.cursor = this.stream.lastId ?? this.cursor;
    this.mayBeReset = false;
    this.stream = undefined;
  }

  /** Resolves when it has everything that was written before. */
  async upToDate(): Promise<void> {
    const now = performance.now();
    if (this.stream) {
      const { events } = this.stream;
      // It was sent after the one before it had come; how long it was on its way is not known.
      const sentAfter = ({ at }: StreamEvent) =>
        events.findLast((each) => isCurrent(each) && each.at < at)?.at ?? 0;
      await this.stream.event(
        (each) => isCurrent(each) && sentAfter(each) - (each.data.ageMs ?? 0) > now,
      );
      return;
    }
    for (let provenAt = 0; provenAt <= now;) {
      const since = this.cursor ? `&since=${this.cursor}` : '';
      const askedAt = performance.now();
      const { status, body } = await random
        .pick(replicas)
        .get(`/v1/markets/changes?${this.query}${since}`);
      // One that is too busy to tell in time says so.
      if (status >= 503) continue;
      if (status !== 200) throw new Error(`Answered with ${status}`);
      this.markets.apply(body.data as Group[]);
      this.cursor = body.meta.cursor;
      // The answer was made later, how much is not known.
      provenAt = askedAt - body.meta.ageMs;
    }
  }

  /** What it has, and what MongoDB has, of each id. */
  async compared(): Promise<Record<'here' | 'stored', string[][]>> {
    const here: string[][] = [];
    const stored: string[][] = [];
    for (const id of this.ids) {
      const [field = '', value] = id.split('=');
      const filter = { [field]: value, ...(this.live && { marketMoment: 'live' }) };
      const found = await markets().find(filter).sort({ _id: 1 }).toArray();
      stored.push(found.map(short));
      here.push(this.markets.of(`${field}:${value}`).map(short));
    }
    return { here, stored };
  }

  private get query(): string {
    return this.ids.join('&') + (this.live ? '&marketMoment=live' : '');
  }
}

/** Groups told to callers who went on from a cursor. */
const told: Group[] = [];

const short = ({ _id, eventId, fixtureId, marketMoment, name }: Document) =>
  `${_id} ${eventId} ${fixtureId} ${marketMoment} ${name}`;

let serial = 0;
const someMarket = (): Partial<Market> => ({
  eventId: random.pick(IDS),
  fixtureId: random.pick(IDS),
  marketMoment: random.pick(['live', 'prelive'] as const),
  name: `version ${(serial += 1)}`,
});
const aStored = () => ({
  ...aMarket(someMarket()),
  _id: `m${String((serial += 1)).padStart(6, '0')}`,
});

async function writeOnce(): Promise<unknown> {
  const [one] = await markets()
    .aggregate([{ $sample: { size: 1 } }])
    .toArray();
  const filter = { _id: one?.['_id'] };
  const { eventId, fixtureId, marketMoment, name } = someMarket();
  return random.pick<() => Promise<unknown>>([
    () => markets().insertOne(aStored() as never),
    () => markets().updateOne(filter, { $set: { name } }),
    () => markets().updateOne(filter, { $set: { name } }),
    () => markets().updateOne(filter, { $set: { eventId } }),
    () => markets().updateOne(filter, { $set: { fixtureId, name } }),
    () => markets().updateOne(filter, { $set: { marketMoment } }),
    () => markets().deleteOne(filter),
    () => markets().replaceOne(filter, aMarket(someMarket())),
    () =>
      client.withSession((session) =>
        session.withTransaction(async () => {
          await markets().insertOne(aStored() as never, { session });
          await markets().updateMany({ eventId }, { $set: { name } }, { session });
          await markets().deleteMany({ eventId, fixtureId }, { session });
        }),
      ),
  ])();
}

async function restart(): Promise<void> {
  const place = random.below(replicas.length);
  await replicas[place]?.close();
  replicas[place] = await aReplica();
}

it('a stream that goes on at a replica tells what was written before that replica knew', async () => {
  const [one, other] = replicas;
  if (!one || !other) throw new Error('There are two replicas');
  const slowly = { failCommands: ['getMore'], blockConnection: true, blockTimeMS: 80 };
  for (let round = 0; round < 5; round += 1) {
    const eventId = `elsewhere-${round}`;
    const [changed, deleted] = [aStored(), aStored()].map((market) => ({ ...market, eventId }));
    await markets().insertMany([changed, deleted] as never[]);
    const caller = new WatchedMarkets();
    const path = `/v1/markets/changes?eventId=${eventId}`;
    let cursor = '';
    await until(async () => {
      const { body } = await one.get(path);
      caller.apply((body.data ?? []) as Group[]);
      cursor = String(body.meta?.cursor);
      return caller.of(`eventId:${eventId}`).length === 2;
    });
    // It reads the event, which nobody asked it for so far, before its feed tells of these writes.
    await setFailCommand(mongod, 'alwaysOn', slowly);
    await markets().updateOne({ _id: changed?._id as never }, { $set: { name: 'new' } });
    await markets().deleteOne({ _id: deleted?._id as never });
    const headers = { 'X-API-Key': other.key, 'Last-Event-ID': cursor };
    const url = `${other.url}/v1/markets/stream?eventId=${eventId}`;
    const stream = await StreamClient.keepOpening(url, headers, caller);
    await setFailCommand(mongod, 'off');
    const now = performance.now();
    await stream.event(
      ({ event, at, data }) => event === 'current' && at - (data.ageMs ?? 0) > now,
    );
    stream.close();
    expect(caller.of(`eventId:${eventId}`).map(({ name }) => name)).toEqual(['new']);
  }
}, 60_000);

it.each(['changes', 'stream'])(
  'all groups of %s are of one state, though one was read before the feed told of it',
  async (route) => {
    const [, other] = replicas;
    if (!other) throw new Error('There are two replicas');
    const slowly = { failCommands: ['getMore'], blockConnection: true, blockTimeMS: 80 };
    for (let round = 0; round < 5; round += 1) {
      const [known, unknown] = [`known-${route}-${round}`, `unknown-${route}-${round}`];
      const pair = [known, unknown].map((eventId) => ({ ...aStored(), eventId, name: 'old' }));
      await markets().insertMany(pair as never[]);
      const ids = pair.map(({ _id }) => _id as never);
      const namesOf = (caller: WatchedMarkets) =>
        [known, unknown].flatMap((id) => caller.of(`eventId:${id}`).map(({ name }) => name));
      const isKnown = async () => {
        const { body } = await other.get(`/v1/markets/changes?eventId=${known}`);
        return body.data?.[0]?.changed.length === 1;
      };
      await until(isKnown);
      await setFailCommand(mongod, 'alwaysOn', slowly);
      await client.withSession((session) =>
        session.withTransaction(() =>
          markets().updateMany({ _id: { $in: ids } }, { $set: { name: 'new' } }, { session }),
        ),
      );
      const caller = new WatchedMarkets();
      const query = `eventId=${known}&eventId=${unknown}`;
      await whole(other, route, query, caller);
      await setFailCommand(mongod, 'off');
      expect(new Set(namesOf(caller)).size).toBe(1);
      expect(namesOf(caller)).toHaveLength(2);
    }
  },
  60_000,
);

/** Brings a caller who has nothing up to one state. */
async function whole(
  replica: TestApp,
  route: string,
  query: string,
  caller: WatchedMarkets,
): Promise<void> {
  const path = `/v1/markets/${route}?${query}`;
  if (route === 'changes') {
    await until(async () => {
      const { body, status } = await replica.get(path);
      caller.apply((body.data ?? []) as Group[]);
      return status === 200;
    });
    return;
  }
  const headers = { 'X-API-Key': replica.key };
  const stream = await StreamClient.keepOpening(`${replica.url}${path}`, headers, caller);
  await stream.event(({ event }) => event === 'current');
  stream.close();
}

/** What turns everything over, once in a while. */
const upheavals: readonly (() => Promise<unknown>)[] = [
  () => markets().drop(),
  // MongoDB renames no collection of which a service builds an index at that moment.
  () =>
    until(() =>
      markets()
        .rename(`away-${serial}`)
        .then(
          () => true,
          () => false,
        ),
    ),
  restart,
];

it('whatever is written, whoever is cut off and goes on elsewhere: callers have what MongoDB has', async () => {
  const callers = SCOPES.map(
    (id, index) =>
      new Caller(
        [id, ...(index % 2 ? [random.pick(SCOPES.filter((each) => each !== id))] : [])],
        index % 3 === 0,
        index % 3 !== 1,
      ),
  );
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const caller of callers) await caller.goOn();
    await markets().insertMany(Array.from({ length: 10 }, aStored) as never[]);
    for (let count = 0; count < WRITES; count += 1) {
      await writeOnce();
      if (random.chance(0.2)) await random.pick(callers).goOn();
    }
    await Promise.all(callers.map((caller) => caller.upToDate()));
    for (const caller of callers) {
      const { here, stored } = await caller.compared();
      expect({ SEED, markets: here }).toEqual({ SEED, markets: stored });
    }
    const upheaval = random.chance(0.7) ? random.pick(upheavals) : undefined;
    // A replica that is restarted would break off its streams in its own way: that is another test.
    for (const caller of callers) await caller.breakOff();
    await upheaval?.();
    if (upheaval === undefined || upheaval === restart) continue;
    const images = { changeStreamPreAndPostImages: { enabled: true } };
    await client
      .db()
      .createCollection('markets', images)
      .catch(() => undefined);
    await made();
    for (const caller of callers) caller.mayBeReset = true;
  }
  // A reset is always right, and would hide a gap: where all is known there is none.
  const resets = told.filter(({ reset }) => reset).length;
  expect({ SEED, resets }).toEqual({ SEED, resets: 0 });
}, 60_000);
