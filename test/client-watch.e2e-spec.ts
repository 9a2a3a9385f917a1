import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Watch, WatchEvent } from '../clients/typescript/src/client.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, aRunner, store } from './factories.js';
import { Line } from './line.js';
import { TestMongod } from './mongo.js';
import { PackedClient } from './packed-client.js';
import { Random, SEED } from './random.js';
import { until } from './until.js';

let service: TestApp;
let packed: PackedClient;
let line: Line;

beforeAll(async () => {
  packed = await PackedClient.link();
  service = await createTestApp();
  line = await new Line(service.port).listen();
}, 60_000);

afterAll(async () => {
  line.close();
  await service.close();
  await packed.remove();
});

const newId = () => `watched-${randomUUID()}`;

function client(apiKey = service.key, baseUrl = line.url) {
  return new packed.exports.MarketsClient({ baseUrl, apiKey });
}

function markets(app: TestApp = service) {
  return app.database.connection.collection('markets');
}

const isCurrent = (watch: Watch) => until(() => watch.status === 'current', 15_000);

/** What a watch holds of a fixture, and what MongoDB does, in terms that can be compared. */
async function bothSides(watch: Watch, fixtureId: string, app: TestApp = service) {
  const stored = await markets(app).find({ fixtureId }).toArray();
  const inMongodb = stored.map(({ _id, runners }) => [String(_id), runners[0].price] as const);
  const held = [...watch.markets({ fixtureId })].map(
    ([id, market]) => [id, market.runners?.[0]?.price] as const,
  );
  return { held: Object.fromEntries(held), inMongodb: Object.fromEntries(inMongodb) };
}

async function expectTrue(watch: Watch, fixtureId: string, app: TestApp = service): Promise<void> {
  const isTrue = async () => {
    const { held, inMongodb } = await bothSides(watch, fixtureId, app);
    return isDeepStrictEqual(held, inMongodb);
  };
  await until(isTrue, 10_000).catch(() => undefined);
  const { held, inMongodb } = await bothSides(watch, fixtureId, app);
  expect(held).toEqual(inMongodb);
}

describe('a watch', () => {
  it('begins with the state, then tells each change', async () => {
    const fixtureId = newId();
    await store(service.database.connection, aMarket({ fixtureId }), aMarket({ fixtureId }));
    const watch = client().watch({ fixtureId, eventId: [newId()] });
    try {
      await isCurrent(watch);
      await expectTrue(watch, fixtureId);
      const events: WatchEvent[] = [];
      const iterator = watch[Symbol.asyncIterator]();
      const [, second] = watch.markets({ fixtureId }).keys();
      for (const price of [2.5, 2.6]) {
        await markets().updateOne({ fixtureId }, { $set: { runners: [aRunner({ price })] } });
        await expectTrue(watch, fixtureId);
      }
      await markets().deleteOne({ fixtureId });
      await expectTrue(watch, fixtureId);
      // Not taken meanwhile, so it is told once, in its newest state.
      for (;;) {
        const { value } = await iterator.next();
        if (!value) break;
        events.push(value);
        if (value.type === 'markets' && value.fixtureId === fixtureId) break;
      }
      const changed = [{ _id: second }];
      expect(events.at(-1)).toMatchObject({ fixtureId, reset: true, changed, removed: [] });
    } finally {
      watch.close();
    }
  });

  it('tells of a market that was removed and put back only that it changed', async () => {
    const fixtureId = newId();
    const market = { ...aMarket({ fixtureId }), _id: newId() };
    await store(service.database.connection, market);
    const watch = client().watch({ fixtureId });
    const iterator = watch[Symbol.asyncIterator]();
    try {
      await iterator.next();
      await markets().deleteOne({ fixtureId });
      await expectTrue(watch, fixtureId);
      await store(service.database.connection, market);
      await expectTrue(watch, fixtureId);
      const { value } = await iterator.next();
      const changed = [{ _id: market._id }];
      expect(value).toMatchObject({ fixtureId, reset: false, changed, removed: [] });
    } finally {
      watch.close();
    }
  });

  it('is of what was asked for, though the program uses its object for another question', async () => {
    const fixtureId = newId();
    const query = { fixtureId: [fixtureId] };
    const watch = client().watch(query);
    try {
      await isCurrent(watch);
      query.fixtureId[0] = newId();
      line.cut();
      await store(service.database.connection, aMarket({ fixtureId }));
      await expectTrue(watch, fixtureId);
    } finally {
      watch.close();
    }
  });

  it('ends quietly when its signal or its loop does', async () => {
    const signal = AbortSignal.timeout(300);
    for await (const event of client().watch({ fixtureId: newId() }, { signal })) {
      expect(['markets', 'current']).toContain(event.type);
    }
    for await (const event of client().watch({ fixtureId: newId() })) {
      if (event.type === 'current') break;
    }
    expect(signal.aborted).toBe(true);
  });

  it('answers each of two calls of next() made at the same time', async () => {
    const watch = client().watch({ fixtureId: [newId(), newId()] });
    const iterator = watch[Symbol.asyncIterator]();
    try {
      const told = await Promise.all([iterator.next(), iterator.next()]);
      expect(told.map(({ value }) => value?.type)).toEqual(['markets', 'markets']);
      const ends = Promise.all([iterator.next(), iterator.next(), iterator.next()]);
      watch.close();
      expect((await ends).at(-1)).toEqual({ done: true, value: undefined });
    } finally {
      watch.close();
    }
  });

  it('is refused as any other request', async () => {
    const watch = client().watch({ fixtureId: [newId(), ''] });
    const next = watch[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject({ code: 'invalid_request', status: 400 });
  });

  it('has the true prices within a second after the line is back, without asking for all again', async () => {
    const fixtureId = newId();
    const others = Array.from({ length: 20 }, () => aMarket({ fixtureId }));
    await store(service.database.connection, ...others);
    const watch = client().watch({ fixtureId });
    try {
      await isCurrent(watch);
      await expectTrue(watch, fixtureId);
      const events: WatchEvent[] = [];
      void (async () => {
        for await (const event of watch) events.push(event);
      })();
      await until(() => events.length > 0);
      events.length = 0;
      line.pulled = true;
      line.cut();
      await until(() => watch.status !== 'current');
      await markets().updateOne({ fixtureId }, { $set: { runners: [aRunner({ price: 7.5 })] } });
      await delay(1_000);
      line.pulled = false;
      const back = performance.now();
      await expectTrue(watch, fixtureId);
      expect(performance.now() - back).toBeLessThan(2_000);
      const told = events.filter((event) => event.type === 'markets');
      expect(told).toHaveLength(1);
      expect(told[0]).toMatchObject({ reset: false });
      // What came just before the cut may be told once more.
      const changed = told.flatMap((event) => event.changed);
      expect(changed.length).toBeLessThan(others.length);
      expect(changed.map(({ runners }) => runners?.[0]?.price)).toContain(7.5);
    } finally {
      line.pulled = false;
      watch.close();
    }
  });

  it('ends with the problem when its key is revoked', async () => {
    const keys = service.keys;
    const { id, key } = await keys.create({ name: 'short-lived', rateLimit: 0 });
    const watch = client(key).watch({ fixtureId: newId() });
    await isCurrent(watch);
    await keys.revoke(id);
    const failure = async () => {
      for await (const event of watch) void event;
    };
    await expect(failure()).rejects.toMatchObject({ code: 'unauthorized' });
    expect(watch.status).toBe('closed');
  });

  it('waits where a limit says so', async () => {
    const { key } = await service.keys.create({ name: 'few', rateLimit: 1 });
    const first = client(key).watch({ fixtureId: newId() });
    const second = client(key).watch({ fixtureId: newId() });
    try {
      await until(() => first.status === 'current' || second.status === 'current');
      await delay(500);
      expect([first.status, second.status].toSorted()).toEqual(['connecting', 'current']);
    } finally {
      first.close();
      second.close();
    }
  });

  it('asks again and again where its key may have no more streams', async () => {
    const keys = service.keys;
    const { key } = await keys.create({ name: 'single', rateLimit: 0, streams: 1 });
    const first = client(key).watch({ fixtureId: newId() });
    await isCurrent(first);
    const second = client(key).watch({ fixtureId: newId() });
    try {
      await isCurrent(second);
      expect(service.logged.some((text) => text.includes('"too_many_streams"'))).toBe(true);
      expect(first.status).toBe('current');
    } finally {
      first.close();
      second.close();
    }
  });

  it('holds what MongoDB holds, whatever is written and however often the line is cut', async () => {
    const random = new Random(SEED);
    const fixtures = [newId(), newId(), newId()];
    const watch = client().watch({ fixtureId: fixtures });
    try {
      for (let round = 0; round < 150; round += 1) {
        const fixtureId = random.pick(fixtures);
        const price = 1 + Math.round(random.next() * 1_000) / 100;
        const act = random.pick([
          'insert',
          'update',
          'update',
          'move',
          'delete',
          'replace',
          'cut',
          'wait',
        ]);
        if (act === 'insert') await store(service.database.connection, aMarket({ fixtureId }));
        if (act === 'update')
          await markets().updateOne({ fixtureId }, { $set: { 'runners.0.price': price } });
        if (act === 'move')
          await markets().updateOne({ fixtureId }, { $set: { fixtureId: random.pick(fixtures) } });
        if (act === 'delete') await markets().deleteOne({ fixtureId });
        if (act === 'replace')
          await markets().findOneAndReplace(
            { fixtureId },
            aMarket({ fixtureId: random.pick(fixtures) }),
          );
        if (act === 'cut') line.cut();
        if (act === 'wait') await delay(random.next() * 50);
      }
      await isCurrent(watch);
      for (const fixtureId of fixtures) await expectTrue(watch, fixtureId);
    } catch (error) {
      throw new Error(`seed ${SEED}`, { cause: error });
    } finally {
      watch.close();
    }
  });
});

it('goes on from its cursor in a process of its own, too', async () => {
  const fixtureId = newId();
  await store(service.database.connection, aMarket({ fixtureId }), aMarket({ fixtureId }));
  const program = `import { MarketsClient } from 'markets-odds-client';
    const [baseUrl, apiKey, fixtureId] = process.argv.slice(2);
    const watch = new MarketsClient({ baseUrl, apiKey }).watch({ fixtureId });
    for await (const event of watch) console.log(JSON.stringify(event));`;
  const caller = await packed.start(program, line.url, service.key, fixtureId);
  const events: WatchEvent[] = [];
  createInterface({ input: caller.stdout }).on('line', (text) => events.push(JSON.parse(text)));
  const types = () => events.map(({ type }) => type);
  try {
    await until(() => types().includes('current'));
    line.cut();
    await until(() => types().includes('late') && types().at(-1) === 'current');
    // `current` may come more than once.
    const told = types().filter((type, index, all) => type !== all[index - 1]);
    expect(told).toEqual(['markets', 'current', 'late', 'current']);
  } finally {
    caller.kill('SIGKILL');
  }
});

it('the example follows a match', async () => {
  const fixtureId = newId();
  await store(service.database.connection, aMarket({ fixtureId, marketMoment: 'live' }));
  const env = {
    MARKETS_URL: service.url,
    MARKETS_KEY: service.key,
    FIXTURE: fixtureId,
    SECONDS: '3',
  };
  expect(await packed.runExample('follow-a-match.js', env)).toMatch(
    /^Northbook Match Odds Home 1\.85, Draw 3\.4, Away 4\.2\nUp to date\.\n/,
  );
});

it('asks again and again where there is no change feed', async () => {
  const mongod = await TestMongod.start({ members: 0 });
  try {
    await expectAsking(await createTestApp({ mongodbUri: mongod.uri }));
  } finally {
    await mongod.stop();
  }
});

it('asks again and again where the process takes no more streams', async () => {
  const { mongodbUri } = service.config;
  await expectAsking(await createTestApp({ mongodbUri, dbInit: false, streamsMax: 0 }));
});

/** A watch has what MongoDB has, though no stream is to be had; then the application is closed. */
async function expectAsking(of: TestApp): Promise<void> {
  const fixtureId = newId();
  const watch = client(of.key, of.url).watch({ fixtureId }, { pollMs: 50 });
  try {
    await store(of.database.connection, aMarket({ fixtureId }), aMarket({ fixtureId }));
    await isCurrent(watch);
    await expectTrue(watch, fixtureId, of);
    await markets(of).deleteOne({ fixtureId });
    await expectTrue(watch, fixtureId, of);
  } finally {
    watch.close();
    await of.close();
  }
}

it('asks where a proxy lets nothing of a stream through', async () => {
  const proxy = await new Line(service.port).listen();
  proxy.streamBytes = 0;
  const fixtureId = newId();
  await store(service.database.connection, aMarket({ fixtureId }), aMarket({ fixtureId }));
  const watch = client(service.key, proxy.url).watch({ fixtureId });
  try {
    await isCurrent(watch);
    await expectTrue(watch, fixtureId);
  } finally {
    watch.close();
    proxy.close();
  }
});
