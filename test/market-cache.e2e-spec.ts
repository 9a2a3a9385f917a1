import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { MongoClient, type Collection, type Document } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { LiveScopes } from '../src/markets/cache/live-scopes.js';
import { MarketCache } from '../src/markets/cache/market-cache.js';
import { ScopeLoader } from '../src/markets/cache/scope-loader.js';
import type { Market } from '../src/markets/market.schema.js';
import { MarketsService } from '../src/markets/markets.service.js';
import { scopesOf, type Scope } from '../src/markets/scope.js';
import { allTold, createTestApp, type TestApp } from './app.js';
import { aMarket } from './factories.js';
import { Line } from './line.js';
import { idleCursors, onceIndexesAreBuilt } from './mongo-admin.js';
import { TestMongod, withDatabase } from './mongo.js';
import { Random, SEED } from './random.js';
import { until } from './until.js';

const PAGE = { page: 1, take: 100 };

/** How soon a change shows in every answer. */
const PROMISED_MS = 250;

interface Shown {
  readonly source: 'memory' | 'database';
  readonly data: readonly Market[];
  readonly itemCount: number;
}

let mongod: TestMongod;

beforeAll(async () => {
  mongod = await TestMongod.start();
});
afterAll(() => mongod?.stop());

/** A scope, as MongoDB finds its markets. */
type Ids = { readonly eventId: string } | { readonly fixtureId: string };

const scopeOf = (ids: Ids) => scopesOf(ids)[0] as Scope;

/** A service with a database of its own, and what the tests need to see of it. */
class Bench {
  private constructor(
    readonly service: TestApp,
    readonly client: MongoClient,
  ) {}

  static async start({ cacheMaxMb = 64, of = mongod } = {}): Promise<Bench> {
    const mongodbUri = withDatabase(of.uri);
    const service = await createTestApp({ mongodbUri, cacheMaxMb });
    return new Bench(service, new MongoClient(mongodbUri, { monitorCommands: true }));
  }

  get markets(): Collection {
    return this.client.db(this.service.database.db.databaseName).collection('markets');
  }

  get cache(): MarketCache {
    return this.service.app.get(MarketCache);
  }

  get feed(): ChangeFeed {
    return this.service.app.get(ChangeFeed);
  }

  async read(ids: Ids, query: object = {}): Promise<Shown> {
    const { answer, source } = await this.service.app
      .get(MarketsService)
      .page(scopeOf(ids), { ...PAGE, ...query });
    const { data, meta } = JSON.parse(answer.body.toString());
    return { source, data, itemCount: meta.itemCount };
  }

  /** Looks a scope up so often that the next look-up loads it. */
  async notice(ids: Ids): Promise<void> {
    for (let times = 0; times < 2; times += 1) await this.read(ids);
  }

  /** Looks a scope up until it is answered from memory. */
  async popularise(ids: Ids): Promise<Shown> {
    let shown = await this.read(ids);
    await until(async () => {
      shown = await this.read(ids);
      return shown.source === 'memory';
    });
    return shown;
  }

  /** As `allTold`. */
  told(): Promise<void> {
    return allTold(this.service);
  }

  async failPoint(name: string, mode: string | object, data: object = {}): Promise<void> {
    await this.client.db('admin').command({ configureFailPoint: name, mode, data });
  }

  async isHanging(failPoint: string): Promise<boolean> {
    const running = await this.client
      .db('admin')
      .aggregate([{ $currentOp: { allUsers: true } }, { $match: { failpointMsg: failPoint } }])
      .toArray();
    return running.length > 0;
  }

  withTransaction(act: Parameters<ReturnType<MongoClient['startSession']>['withTransaction']>[0]) {
    return this.client.withSession((session) => session.withTransaction(act));
  }

  async stop(): Promise<void> {
    await this.service.close();
    await this.client.close();
  }
}

/** A market as any writer may store it. */
function stored(fields: object = {}): Document {
  return { ...aMarket(), ...fields };
}

/** The first of the two markets that an event has in these tests. */
const one = (id: string) => ({ eventId: id, name: 'a' });

const namesOf = ({ data }: Pick<Shown, 'data'>) => data.map(({ name }) => name);

describe('MarketCache', () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start();
  });
  afterAll(() => bench?.stop());

  const set = (id: string, fields: object) => bench.markets.updateOne(one(id), { $set: fields });

  describe('(a) a load that races with a change', () => {
    afterEach(() => bench.failPoint('waitInFindBeforeMakingBatch', 'off'));

    it.each([
      ['an update', (id: string) => bench.markets.updateOne({ id }, { $set: { name: 'new' } })],
      ['a deletion', (id: string) => bench.markets.deleteOne({ id })],
      ['a move', (id: string) => bench.markets.updateOne({ id }, { $set: { eventId: 'other' } })],
      ['a drop', () => bench.markets.drop()],
    ])('leaves no old state behind after %s', async (_name, change) => {
      const id = randomUUID();
      const scope = { eventId: id };
      await bench.markets.insertOne({ ...stored({ eventId: id, name: 'old' }), id });
      await bench.told();
      const nss = bench.markets.namespace;
      await bench.failPoint('waitInFindBeforeMakingBatch', 'alwaysOn', { nss });
      const readings: Promise<Shown>[] = [];
      // Look-ups that come while the feed is late load nothing.
      await until(() => {
        readings.push(bench.read(scope));
        return bench.isHanging('waitInFindBeforeMakingBatch');
      });
      // A drop waits for the reads of the collection.
      const changing = change(id);
      if (_name !== 'a drop') {
        await changing;
        await bench.told();
      }
      await bench.failPoint('waitInFindBeforeMakingBatch', 'off');
      await changing;
      await Promise.all(readings);
      await bench.told();
      const expected = _name === 'an update' ? ['new'] : [];
      expect(namesOf(await bench.read(scope))).toEqual(expected);
      // Memory is tried again once there is a collection.
      await bench.markets.insertOne(stored());
      expect(namesOf(await bench.popularise(scope))).toEqual(expected);
    });
  });

  describe('a load', () => {
    const hanging = 'waitInFindBeforeMakingBatch';
    const patient = { budgetMs: 10_000, inOneReply: true };
    const failing = { failCommands: ['getMore'], appName: 'markets-odds-service' };

    afterEach(async () => {
      await bench.failPoint(hanging, 'off');
      await bench.failPoint('failCommand', 'off');
    });

    it('is not kept when changes were missed while it ran', async () => {
      const scope = { eventId: randomUUID() };
      await bench.markets.insertOne(stored({ ...scope, name: 'old' }));
      await bench.told();
      await bench.failPoint(hanging, 'alwaysOn', { nss: bench.markets.namespace });
      // With the time of a look-up, it would give up before the feed begins again.
      const load = bench.service.app
        .get(ScopeLoader)
        .load([scopeOf(scope)], patient, () => undefined);
      await until(() => bench.isHanging(hanging));
      const failCommands = ['aggregate', 'getMore'];
      await bench.failPoint('failCommand', 'alwaysOn', {
        ...failing,
        failCommands,
        errorCode: 286,
      });
      await until(() => bench.feed.ageMs === Infinity);
      await bench.markets.updateOne(scope, { $set: { name: 'new' } });
      // The feed begins anew with the last write: that is another.
      await bench.markets.insertOne(stored());
      await bench.failPoint('failCommand', 'off');
      await bench.told();
      await bench.failPoint(hanging, 'off');
      expect(await load).toEqual(new Map([[scopeOf(scope), { count: 1, unfit: 'outdated' }]]));
    });

    it('that finds no collection shows none of its last changes without the others', async () => {
      for (let round = 0; round < 5; round += 1) {
        const scope = { eventId: randomUUID() };
        await bench.markets.insertMany(['a', 'b'].map((name) => stored({ ...scope, name })));
        await bench.told();
        await bench.notice(scope);
        const slowly = { ...failing, blockConnection: true, blockTimeMS: 80 };
        await bench.failPoint('failCommand', 'alwaysOn', slowly);
        await bench.markets.updateOne({ ...scope, name: 'a' }, { $set: { name: 'new' } });
        await onceIndexesAreBuilt(() => bench.markets.drop());
        const states = new Set<string>();
        const told = bench.told();
        let isTold = false;
        void told.then(() => (isTold = true));
        await until(async () => {
          states.add(namesOf(await bench.read(scope)).join());
          return isTold;
        });
        await bench.failPoint('failCommand', 'off');
        expect([...states]).toEqual(['']);
      }
    });

    it('that failed is tried again', async () => {
      const scope = { eventId: randomUUID() };
      await bench.markets.insertOne(stored(scope));
      await bench.told();
      await bench.notice(scope);
      const data = { failCommands: ['find'], errorCode: 50, appName: 'markets-odds-service' };
      await bench.failPoint('failCommand', { times: 1 }, data);
      expect((await bench.read(scope)).source).toBe('database');
      await bench.popularise(scope);
    });

    it('answers nothing when the feed fell behind while it ran', async () => {
      const { scope, loader, load } = await scopeToLoad(bench);
      // Not by making MongoDB hang: the load of a look-up would give up, and the page be read, before the change.
      const loads = jest.spyOn(loader, 'load').mockClear();
      loads.mockImplementationOnce(async (...args) => {
        const loaded = await load(...args);
        await bench.failPoint('failCommand', 'alwaysOn', { ...failing, closeConnection: true });
        await until(() => bench.feed.ageMs === Infinity);
        await bench.markets.updateOne(scope, { $set: { name: 'new' } });
        return loaded;
      });
      let shown = await bench.read(scope);
      // A look-up that comes while the feed is late loads nothing.
      await until(async () => {
        if (loads.mock.calls.length === 0) shown = await bench.read(scope);
        return loads.mock.calls.length > 0;
      });
      expect(shown.source).toBe('database');
      expect(namesOf(shown)).toEqual(['new']);
    });

    it('is dropped where a watch has loaded the same scope meanwhile, and changes are seen', async () => {
      const { scope, loader, load } = await scopeToLoad(bench);
      jest.spyOn(loader, 'load').mockImplementationOnce(async (scopes, bounds, keep) => {
        await bench.service.get(`/v1/markets/changes?eventId=${scope.eventId}`).expect(200);
        return load(scopes, bounds, keep);
      });
      await bench.popularise(scope);
      await bench.markets.updateOne(scope, { $set: { name: 'new' } });
      await bench.told();
      expect(namesOf(await bench.read(scope))).toEqual(['new']);
    });

    it('is one for all who ask meanwhile, and keeps no changes once it is over', async () => {
      const { scope, loader } = await scopeToLoad(bench);
      const loads = jest.spyOn(loader, 'load').mockClear();
      // Look-ups that come while the feed is late load nothing.
      await until(async () => {
        await Promise.all(Array.from({ length: 5 }, () => bench.read(scope)));
        return loads.mock.calls.length > 0;
      });
      expect(loads).toHaveBeenCalledTimes(1);
      loads.mockRestore();
      expect(loader['loads'].size).toBe(0);
    });

    it('is undone when the event grows above 2,000 markets', async () => {
      const scope = { eventId: randomUUID() };
      const all = Array.from({ length: 2_000 }, (_, index) => ({ ...scope, marketId: `${index}` }));
      await bench.markets.insertMany(all);
      // On a busy machine MongoDB may take too long.
      await until(async () => {
        const shown = await bench.read(scope).catch(() => undefined);
        return shown?.source === 'memory';
      });
      const live = bench.service.app.get(LiveScopes);
      expect(live.get(scopeOf(scope))?.length).toBe(2_000);
      await bench.markets.insertOne({ ...scope });
      await bench.told();
      expect(live.get(scopeOf(scope))).toBeUndefined();
      await bench.markets.deleteMany(scope);
    });

    it('leaves no cursor behind where a scope is too large for one reply', async () => {
      const scope = { eventId: randomUUID() };
      const name = 'x'.repeat(1024 * 1024);
      await bench.markets.insertMany(Array.from({ length: 17 }, () => stored({ ...scope, name })));
      await bench.told();
      // With the time of a look-up, a busy machine would give up before the first reply.
      const load = bench.service.app
        .get(ScopeLoader)
        .load([scopeOf(scope)], patient, () => undefined);
      const unfit = expect.objectContaining({ unfit: 'too large' });
      expect(await load).toEqual(new Map([[scopeOf(scope), unfit]]));
      await until(async () => (await idleCursors(bench.client)) === 0);
      await bench.markets.deleteMany(scope);
    });
  });

  describe('(b) a feed that is blind or behind', () => {
    it.each([
      ['silent', { blockConnection: true, blockTimeMS: 1_000 }],
      ['cut', { closeConnection: true }],
      ['refused', { errorCode: 280 }],
    ])('leaves the answers to MongoDB while it is %s, and takes them back', async (_name, data) => {
      const scope = { eventId: randomUUID() };
      await bench.markets.insertOne(stored({ ...scope, name: 'old' }));
      await bench.popularise(scope);
      const failing = { failCommands: ['getMore'], appName: 'markets-odds-service', ...data };
      await bench.failPoint('failCommand', 'alwaysOn', failing);
      await bench.markets.updateOne(scope, { $set: { name: 'new' } });
      await until(async () => (await bench.read(scope)).source === 'database');
      expect(namesOf(await bench.read(scope))).toEqual(['new']);
      await bench.failPoint('failCommand', 'off');
      expect(namesOf(await bench.popularise(scope))).toEqual(['new']);
    });

    it('begins again with nothing where the stream can not go on', async () => {
      const scope = { eventId: randomUUID() };
      await bench.markets.insertOne(stored(scope));
      await bench.popularise(scope);
      const failing = { failCommands: ['getMore'], appName: 'markets-odds-service' };
      // What reads the past asks so, too: a failure for once might meet that alone.
      await bench.failPoint('failCommand', 'alwaysOn', { ...failing, errorCode: 286 });
      await until(() => bench.cache.count === 0);
      await bench.failPoint('failCommand', 'off');
      await bench.popularise(scope);
    });
  });

  describe('(d) whatever is written, by whomever', () => {
    const writes: [string, (id: string) => Promise<unknown>, string[]][] = [
      [
        'an insert',
        (id) => bench.markets.insertOne(stored({ eventId: id, name: 'c' })),
        ['a', 'b', 'c'],
      ],
      ['an update', (id) => set(id, { name: 'c' }), ['c', 'b']],
      ['an update of one price', (id) => set(id, { 'runners.0.price': 9 }), ['a', 'b']],
      [
        'a replacement',
        (id) => bench.markets.replaceOne(one(id), stored({ eventId: id, name: 'c' })),
        ['c', 'b'],
      ],
      [
        'a replacement by one elsewhere',
        (id) => bench.markets.replaceOne(one(id), stored()),
        ['b'],
      ],
      ['a deletion', (id) => bench.markets.deleteOne(one(id)), ['b']],
      ['a move away', (id) => set(id, { eventId: randomUUID() }), ['b']],
      [
        'a move here',
        (id) => bench.markets.updateOne({ marketId: `x ${id}` }, { $set: { eventId: id } }),
        ['a', 'b', 'x'],
      ],
      [
        'a move here and away again, in one transaction',
        (id) =>
          bench.withTransaction(async (session) => {
            for (const eventId of [id, randomUUID()])
              await bench.markets.updateOne(
                { marketId: `x ${id}` },
                { $set: { eventId } },
                { session },
              );
          }),
        ['a', 'b'],
      ],
      [
        'a deletion, and an insert of the same market elsewhere, in one transaction',
        (id) =>
          bench.withTransaction(async (session) => {
            const deleted = await bench.markets.findOneAndDelete(one(id), { session });
            await bench.markets.insertOne({ ...deleted, eventId: randomUUID() }, { session });
          }),
        ['b'],
      ],
      [
        'the loss of the id',
        (id) => bench.markets.updateOne(one(id), { $unset: { eventId: 1 } }),
        ['b'],
      ],
      ['an id of another type', (id) => set(id, { eventId: 7 }), ['b']],
      ['several ids', (id) => set(id, { eventId: [randomUUID(), id] }), ['a', 'b']],
      [
        'an id added to several',
        (id) =>
          bench.markets.updateOne({ marketId: `y ${id}` }, { $push: { eventId: id } as object }),
        ['a', 'b', 'y'],
      ],
      [
        'an id changed among several',
        (id) => bench.markets.updateOne({ marketId: `y ${id}` }, { $set: { 'eventId.0': id } }),
        ['a', 'b', 'y'],
      ],
      [
        'a renamed field',
        (id) => bench.markets.updateOne(one(id), { $rename: { eventId: 'wasEventId' } }),
        ['b'],
      ],
      [
        'an update by pipeline',
        (id) =>
          bench.markets.updateOne(one(id), [{ $set: { eventId: { $concat: ['$eventId', '!'] } } }]),
        ['b'],
      ],
      [
        'many updates',
        (id) => bench.markets.updateMany({ eventId: id }, { $set: { name: 'c' } }),
        ['c', 'c'],
      ],
    ];

    describe.each([true, false])('with images: %s', (enabled) => {
      beforeAll(() =>
        onceIndexesAreBuilt(() =>
          bench.service.database.db.command({
            collMod: 'markets',
            changeStreamPreAndPostImages: { enabled },
          }),
        ),
      );

      it.each(writes)('%s is seen', async (_name, write, expected) => {
        const id = randomUUID();
        const scope = { eventId: id };
        await bench.markets.insertMany([
          stored({ eventId: id, name: 'a' }),
          stored({ eventId: id, name: 'b' }),
          stored({ marketId: `x ${id}`, name: 'x' }),
          stored({ marketId: `y ${id}`, name: 'y', eventId: [randomUUID(), randomUUID()] }),
        ]);
        await bench.popularise(scope);
        await write(id);
        await bench.told();
        expect(namesOf(await bench.read(scope))).toEqual(expected);
        expect(namesOf(await bench.popularise(scope))).toEqual(expected);
      });
    });

    const upheavals: [string, () => Promise<unknown>][] = [
      ['a drop', () => bench.markets.drop()],
      ['a rename away', () => bench.markets.rename(`away-${randomUUID()}`)],
      [
        'another collection in its place',
        async () => {
          const next = bench.service.database.db.collection('next');
          await next.insertOne(stored());
          await next.rename('markets', { dropTarget: true });
        },
      ],
      ['a deletion of all', () => bench.markets.deleteMany({})],
    ];

    it.each(upheavals)('%s is seen, and what is filled in after it', async (_name, happen) => {
      const scope = { fixtureId: randomUUID() };
      await bench.markets.insertOne(stored({ ...scope, name: 'old' }));
      await bench.popularise(scope);
      await onceIndexesAreBuilt(happen);
      await bench.told();
      expect(namesOf(await bench.read(scope))).toEqual([]);
      await bench.markets.insertOne(stored({ ...scope, name: 'new' }));
      await bench.told();
      expect(namesOf(await bench.read(scope))).toEqual(['new']);
      expect(namesOf(await bench.popularise(scope))).toEqual(['new']);
    });

    it('an event is popular before there is any market', async () => {
      const scope = { eventId: randomUUID() };
      await bench.markets.drop();
      await bench.told();
      for (let times = 0; times < 3; times += 1) expect((await bench.read(scope)).data).toEqual([]);
      await bench.markets.insertOne(stored({ ...scope, name: 'first' }));
      await bench.told();
      expect(namesOf(await bench.popularise(scope))).toEqual(['first']);
    });
  });
});

it('a slow line to MongoDB: an answer that told nothing new when it was sent proves nothing when it arrives', async () => {
  const line = await new Line(Number(mongod.ports[0])).listen();
  const address = `${line.url.replace('http', 'mongodb')}/test?directConnection=true`;
  const service = await createTestApp({ mongodbUri: address });
  const client = new MongoClient(mongod.uri);
  const markets = client.db('test').collection('markets');
  const eventId = randomUUID();
  const names = async () => {
    const { body } = await service.get(`/v1/markets/market/provider/${eventId}`).expect(200);
    return namesOf(body);
  };
  try {
    await markets.insertOne(stored({ eventId, name: 'old' }));
    await until(async () => {
      await names();
      return service.app.get(MarketCache).count === 1;
    });
    line.underWayMs = 220;
    for (const name of ['one', 'two', 'three']) {
      await allTold(service);
      // The next answer to the feed is half-way then, and arrives before the look-up.
      await delay(130);
      await markets.updateOne({ eventId }, { $set: { name } });
      await delay(PROMISED_MS);
      expect(await names()).toEqual([name]);
    }
  } finally {
    await service.close();
    await client.close();
    line.close();
  }
});

describe('(c) data and meta of one state', () => {
  let bench: Bench;
  let standalone: TestMongod | undefined;

  afterEach(async () => {
    await bench.stop();
    await standalone?.stop();
  });

  it.each([
    ['memory', 64],
    ['database', 0],
  ] as const)('hold in answers from the %s', async (source, cacheMaxMb) => {
    bench = await Bench.start({ cacheMaxMb });
    const scope = { eventId: randomUUID() };
    // A market's name tells how many there are.
    const write = (count: number) =>
      bench.withTransaction(async (session) => {
        await bench.markets.deleteMany(scope, { session });
        const markets = Array.from({ length: count }, () => stored({ ...scope, name: `${count}` }));
        await bench.markets.insertMany(markets, { session });
      });
    const read = async () => {
      const shown = await bench.read(scope);
      const names = namesOf(shown);
      expect(names).toEqual(Array.from({ length: shown.itemCount }, () => names[0]));
      expect(shown.itemCount).toBe(Number(names[0]));
      const { data, itemCount } = await bench.read(scope, { take: 2, page: 2 });
      expect(data).toHaveLength(Math.min(2, Math.max(0, itemCount - 2)));
      return shown.source;
    };
    await write(1);
    const sources = new Set<string>();
    for (let version = 1; version <= 30; version += 1) {
      const [, ...readFrom] = await Promise.all([write(1 + (version % 7)), read(), read(), read()]);
      for (const each of readFrom) sources.add(each);
    }
    expect(sources).toContain(source);
  });

  it('hold in answers from a standalone MongoDB', async () => {
    standalone = await TestMongod.start({ members: 0 });
    bench = await Bench.start({ of: standalone });
    const scope = { eventId: randomUUID() };
    const read = async () => {
      const shown = await bench.read(scope);
      expect(shown.itemCount).toBe(shown.data.length);
      expect(shown.source).toBe('database');
    };
    for (let times = 0; times < 30; times += 1) {
      const write =
        times % 3 < 2
          ? bench.markets.insertMany(Array.from({ length: 20 }, () => stored(scope)))
          : bench.markets.deleteMany(scope);
      await Promise.all([write, read(), read(), read()]);
    }
  });
});

describe('(e) memory', () => {
  const MIB = 1024 * 1024;
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.start({ cacheMaxMb: 1 });
  });
  afterAll(() => bench?.stop());

  it('counts the answers that are remembered', async () => {
    const scope = { eventId: randomUUID() };
    await bench.markets.insertMany(Array.from({ length: 20 }, () => stored(scope)));
    await bench.told();
    await bench.popularise(scope);
    const before = bench.cache.bytes;
    let answered = 0;
    for (let take = 10; take <= 20; take += 1) {
      const { answer } = await bench.service.app
        .get(MarketsService)
        .page(scopeOf(scope), { page: 1, take });
      answered += answer.body.length;
    }
    expect(bench.cache.bytes).toBeGreaterThan(before + answered);
  });

  it(`stays in its bound under random look-ups (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    const events = Array.from({ length: 120 }, () => randomUUID());
    await bench.markets.insertMany(
      events.flatMap((eventId) => Array.from({ length: 20 }, () => stored({ eventId }))),
    );
    await bench.told();
    let most = 0;
    for (let times = 0; times < 1_500; times += 1) {
      const [page, take] = [1 + random.below(20), 1 + random.below(100)];
      await bench.read({ eventId: random.pick(events) }, { page, take });
      expect(bench.cache.bytes).toBeLessThanOrEqual(MIB);
      most = Math.max(most, bench.cache.bytes);
    }
    expect(most).toBeGreaterThan(MIB / 2);
    // What made room for others is held nowhere else.
    expect(bench.service.app.get(LiveScopes)['scopes'].size).toBe(bench.cache.count);
  });

  it('leaves a scope to MongoDB that is larger than all of it', async () => {
    const scope = { eventId: randomUUID() };
    const name = 'x'.repeat(MIB / 8);
    await bench.markets.insertMany(Array.from({ length: 9 }, () => stored({ ...scope, name })));
    const load = jest.spyOn(bench.service.app.get(ScopeLoader), 'load');
    // On a busy machine a load may fail, and is tried again.
    await until(async () => {
      await bench.read(scope);
      const [loaded] = await Promise.allSettled(load.mock.results.slice(-1).map((r) => r.value));
      return loaded?.status === 'fulfilled';
    });
    load.mockClear();
    for (let times = 0; times < 5; times += 1) {
      await bench.told();
      expect((await bench.read(scope)).source).toBe('database');
    }
    expect(load).not.toHaveBeenCalled();
  });

  it('gives up what was asked for the longest time ago, though it changes', async () => {
    // With their answers two have room, and three have not.
    const name = 'x'.repeat(MIB / 20);
    const [first = '', second = '', third = ''] = Array.from({ length: 3 }, () => randomUUID());
    for (const eventId of [first, second, third]) {
      const four = Array.from({ length: 4 }, () => stored({ eventId, name }));
      await bench.markets.insertMany(four);
    }
    await bench.told();
    await bench.popularise({ eventId: first });
    await bench.popularise({ eventId: second });
    await bench.popularise({ eventId: first });
    await bench.markets.updateOne({ eventId: second }, { $set: { marketStatus: 'CLOSED' } });
    await bench.told();
    await bench.popularise({ eventId: third });
    const live = bench.service.app.get(LiveScopes);
    const isThere = (eventId: string) => live.get(scopeOf({ eventId })) !== undefined;
    expect([first, second, third].map(isThere)).toEqual([true, false, true]);
  });

  it.each([
    ['five, to about as much as all may take', 5, 600],
    ['a hundred, by a few markets each', 100, 12],
  ])('stays in its bound when scopes grow that nobody asks for: %s', async (_which, count, by) => {
    const events = Array.from({ length: count }, () => randomUUID());
    await bench.markets.insertMany(events.map((eventId) => stored({ eventId })));
    for (const eventId of events) await bench.popularise({ eventId });
    expect(bench.cache.count).toBeGreaterThanOrEqual(count);
    for (const eventId of events) {
      await bench.markets.insertMany(Array.from({ length: by }, () => stored({ eventId })));
    }
    await bench.told();
    expect(bench.cache.count).toBeLessThan(count);
    expect(bench.cache.bytes).toBeLessThanOrEqual(MIB);
    const scopes = [...bench.service.app.get(LiveScopes)['scopes'].values()];
    const held = scopes.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(held).toBeLessThanOrEqual(1.125 * MIB);
  });
});

/** A scope whose next look-up loads it, and what loads it. */
async function scopeToLoad(bench: Bench) {
  const scope = { eventId: randomUUID() };
  await bench.markets.insertOne(stored({ ...scope, name: 'old' }));
  await bench.told();
  await bench.notice(scope);
  const loader = bench.service.app.get(ScopeLoader);
  return { scope, loader, load: loader.load.bind(loader) };
}
