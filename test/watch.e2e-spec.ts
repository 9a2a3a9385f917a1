import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Binary, ObjectId, Timestamp, UUID, type Collection } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyRecords } from '../src/api-keys/key-records.js';
import { RequestLimit } from '../src/api-keys/request-limit.js';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import type { Config } from '../src/config.js';
import { initDatabase } from '../src/database/init.js';
import { SECONDARY_AGE_MS } from '../src/database/read-after-time.js';
import { ReadAttempt } from '../src/database/read-attempt.js';
import type { Market } from '../src/markets/market.schema.js';
import { writeCursor } from '../src/markets/watch/cursor.js';
import { HistoryBackfill } from '../src/markets/watch/history-backfill.js';
import type { StreamObserver } from '../src/markets/watch/stream-context.js';
import { StreamHub } from '../src/markets/watch/stream-hub.js';
import { StreamTimes } from '../src/markets/watch/stream-times.js';
import { Watch } from '../src/markets/watch/watch.js';
import { WatchGroups } from '../src/markets/watch/watch-groups.js';
import { WatchedScopes } from '../src/markets/watch/watched-scopes.js';
import { WatchPreparation } from '../src/markets/watch/watch-preparation.js';
import { Metrics } from '../src/telemetry/metrics.js';
import { allTold, createTestApp, type TestApp } from './app.js';
import { aMarket } from './factories.js';
import { TestMongod } from './mongo.js';
import { onceIndexesAreBuilt, onMember, setFailCommand } from './mongo-admin.js';
import { monitored, readsDuring } from './mongo-commands.js';
import { openStream } from './open-stream.js';
import { inTime, until } from './until.js';
import { StreamClient, type Group, type StreamEvent } from './watch-client.js';

let service: TestApp;
const streams: StreamClient[] = [];

beforeAll(async () => {
  service = await createTestApp();
});
afterAll(() => service.close());
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});

const markets = (): Collection => service.database.db.collection('markets');

/** Stores markets; their ids are theirs in order. */
async function stored(...wishes: Partial<Market>[]) {
  const documents = wishes.map((wish) => ({ ...aMarket(wish), _id: randomUUID() }));
  documents.sort((one, other) => (one._id < other._id ? -1 : 1));
  await markets().insertMany(documents as never[]);
  return documents;
}

/** Opens a stream that ends with the test. */
async function open(
  query: string,
  headers = {},
  key = service.key,
  of = service,
): Promise<StreamClient> {
  const stream = await openStream({ ...of, key }, query, headers);
  streams.push(stream);
  return stream;
}

const told = (of = service) => allTold(of);

/** A second service on the same database, which has read what happened before it began. */
async function restart(config: Partial<Config> = {}): Promise<TestApp> {
  const { mongodbUri } = service.config;
  const restarted = await createTestApp({ mongodbUri, dbInit: false, ...config });
  // On a busy machine the feed begins later than a caller waits for it.
  await told(restarted);
  await until(() => !restarted.app.get(HistoryBackfill).isFilling);
  return restarted;
}

async function changes(query: string, of = service) {
  await told(of);
  const { status, body } = await inTime(() => of.get(`/v1/markets/changes?${query}`));
  expect(status).toBe(200);
  return body;
}

/** A cursor from memory: one that was given while the feed was late on a busy machine may cost a reset. */
async function lastingCursor(query: string, of = service): Promise<string> {
  let cursor = '';
  await until(async () => {
    ({ cursor } = (await changes(query, of)).meta);
    return (await changes(`${query}&since=${cursor}`, of)).data.length === 0;
  });
  return cursor;
}

/** What is told since a cursor of an event with one market, where this happened right before the answer. */
async function toldAfter(happen: (eventId: string) => Promise<unknown>): Promise<unknown> {
  const eventId = randomUUID();
  await stored({ eventId });
  const query = `eventId=${eventId}`;
  const { cursor } = (await changes(query)).meta;
  const known = jest.spyOn(service.app.get(HistoryBackfill), 'waitUntilKnown');
  known.mockImplementationOnce(async () => {
    await happen(eventId);
  });
  let body: unknown;
  // While the feed is late on a busy machine, an answer is read from MongoDB before that.
  await until(async () => {
    body = await changes(`${query}&since=${cursor}`);
    return known.mock.calls.length > 0;
  });
  return body;
}

/** Whether an event has a market of that name. */
const tells =
  (wanted: string) =>
  ({ data }: StreamEvent) =>
    data.data?.[0]?.changed.some(({ name }) => name === wanted) === true;

const shown = (market: object = {}) => JSON.parse(JSON.stringify(market));

describe('GET /v1/markets/changes', () => {
  it('is the bulk look-up: a group for each id in the order asked', async () => {
    const [eventId, fixtureId, nobody] = [randomUUID(), randomUUID(), randomUUID()];
    const ofEvent = await stored({ eventId }, { eventId });
    const ofFixture = await stored({ fixtureId });
    const body = await changes(`fixtureId=${nobody}&eventId=${eventId}&fixtureId=${fixtureId}`);
    expect(body).toEqual({
      data: [
        { fixtureId: nobody, reset: true, changed: [], removed: [] },
        { eventId, reset: true, changed: ofEvent.map(shown), removed: [] },
        { fixtureId, reset: true, changed: ofFixture.map(shown), removed: [] },
      ],
      meta: { cursor: expect.stringMatching(/^[\w-]{1,256}$/), ageMs: expect.any(Number) },
    });
  });

  it('tells its age in whole milliseconds, and not as less than it is', async () => {
    const query = `eventId=${randomUUID()}`;
    // It is in memory from here on.
    await lastingCursor(query);
    const age = jest.spyOn(service.app.get(ChangeFeed), 'ageMs', 'get').mockReturnValue(0.4);
    const { meta } = await changes(query);
    age.mockRestore();
    expect(meta.ageMs).toBe(1);
  });

  it('shows no market any more that was deleted, though it was asked for before', async () => {
    const fixtureId = randomUUID();
    const [first, second] = await stored({ fixtureId }, { fixtureId });
    const group = { fixtureId, reset: true, removed: [] };
    const all = await changes(`fixtureId=${fixtureId}`);
    expect(all.data).toEqual([{ ...group, changed: [first, second].map(shown) }]);
    await markets().deleteOne({ _id: first?._id as never });
    const rest = await changes(`fixtureId=${fixtureId}`);
    expect(rest.data).toEqual([{ ...group, changed: [second].map(shown) }]);
  });

  it('shows what meets its own filters, not those of a request before it', async () => {
    const eventId = randomUUID();
    await stored({ eventId, marketStatus: 'OPEN' }, { eventId, marketStatus: 'CLOSED' });
    for (const status of ['OPEN', 'CLOSED']) {
      const { data } = await changes(`eventId=${eventId}&marketStatus=${status}`);
      expect(data[0].changed).toEqual([expect.objectContaining({ marketStatus: status })]);
    }
  });

  it('tells with a cursor only what is new since', async () => {
    const [eventId, other] = [randomUUID(), randomUUID()];
    const [one, two] = await stored({ eventId }, { eventId });
    await stored({ eventId: other });
    const query = `eventId=${other}&eventId=${eventId}`;
    const first = await changes(query);
    await markets().updateOne({ _id: one?._id as never }, { $set: { name: 'new' } });
    await markets().deleteOne({ _id: two?._id as never });
    const changed = [{ ...shown(one ?? {}), name: 'new' }];
    const { data, meta } = await changes(`${query}&since=${first.meta.cursor}`);
    expect(data).toEqual([{ eventId, reset: false, changed, removed: [two?._id] }]);
    expect((await changes(`${query}&since=${meta.cursor}`)).data).toEqual([]);
  });

  it('goes on from a cursor of the same ids in another order', async () => {
    const [eventId, fixtureId] = [randomUUID(), randomUUID()];
    const cursor = await lastingCursor(`eventId=${eventId}&fixtureId=${fixtureId}`);
    const { data } = await changes(`fixtureId=${fixtureId}&eventId=${eventId}&since=${cursor}`);
    expect(data).toEqual([]);
  });

  it('keeps what was asked for a minute, and no longer', async () => {
    const eventId = randomUUID();
    const watched = service.app.get(WatchedScopes);
    const isKept = () => watched.get(`eventId:${eventId}`) !== undefined;
    // While the feed is late on a busy machine, nothing is kept.
    await until(async () => {
      await changes(`eventId=${eventId}`);
      return isKept();
    });
    watched.expire(performance.now() + 55_000);
    expect(isKept()).toBe(true);
    watched.expire(performance.now() + 61_000);
    expect(isKept()).toBe(false);
  });

  it('tells of markets whose ids are UUIDs, as of any', async () => {
    const eventId = randomUUID();
    const ids = [new UUID(), new UUID(), new UUID()];
    await markets().insertMany(ids.map((_id) => ({ ...aMarket({ eventId }), _id })) as never[]);
    const { meta } = await changes(`eventId=${eventId}`);
    const [one, two] = ids;
    await markets().updateOne({ _id: one as never }, { $set: { name: 'new' } });
    await markets().deleteOne({ _id: two as never });
    const { data } = await changes(`eventId=${eventId}&since=${meta.cursor}`);
    const changed = [expect.objectContaining({ _id: String(one), name: 'new' })];
    expect(data).toEqual([{ eventId, reset: false, changed, removed: [String(two)] }]);
  });
});

it('two markets whose ids have the same text: the one that is still there is not removed', async () => {
  const eventId = randomUUID();
  const _id = new ObjectId();
  const ids = [_id, String(_id)];
  await markets().insertMany(
    ids.map((each) => ({ ...aMarket({ eventId }), _id: each })) as never[],
  );
  const cursor = await lastingCursor(`eventId=${eventId}`);
  await markets().deleteOne({ _id: _id as never });
  const { data } = await changes(`eventId=${eventId}&since=${cursor}`);
  const changed = [expect.objectContaining({ _id: String(_id) })];
  expect(data).toEqual([{ eventId, reset: false, changed, removed: [] }]);
  await markets().updateOne({ eventId }, { $set: { name: 'new' } });
  const [again] = (await changes(`eventId=${eventId}&since=${cursor}`)).data;
  expect(again.changed).toEqual([expect.objectContaining({ name: 'new' })]);
});

it.each([
  ['a UUID of one byte', new Binary(Buffer.from('ab', 'hex'), Binary.SUBTYPE_UUID)],
  ['a document that looks like a type of the driver', new Map([['_bsontype', 'Odd']])],
])('an _id that is %s is told as text, and ends nothing', async (_what, _id) => {
  const eventId = randomUUID();
  const { meta } = await changes(`eventId=${eventId}`);
  const price = new Map<string, unknown>([
    ['_bsontype', 'Int32'],
    ['toString', 1],
  ]);
  const runners = [{ runnerId: 'r', name: 'n', price }];
  await markets().insertOne({ ...aMarket({ eventId }), runners, _id } as never);
  await told();
  const { body } = await service.get(`/v1/markets/market/provider/${eventId}`).expect(200);
  const expected = { _id: expect.stringMatching(/./), runners: [{ runnerId: 'r', name: 'n' }] };
  expect(body.data).toEqual([expect.objectContaining(expected)]);
  const { data } = await changes(`eventId=${eventId}&since=${meta.cursor}`);
  expect(data).toEqual([
    expect.objectContaining({ eventId, changed: [expect.objectContaining(expected)] }),
  ]);
  await markets().deleteMany({ eventId });
  await told();
});

describe('both', () => {
  it('refuse what is no cursor, and name where it stood', async () => {
    const query = `eventId=${randomUUID()}`;
    const cursor: string = (await changes(query)).meta.cursor;
    const broken = cursor.replace(/^../, 'zz');
    for (const path of ['changes', 'stream']) {
      const { body } = await service
        .get(`/v1/markets/${path}?${query}&since=${broken}`)
        .expect(400);
      expect(body.errors).toEqual([expect.objectContaining({ in: 'query', name: 'since' })]);
    }
    const { body } = await service
      .get(`/v1/markets/stream?${query}`)
      .set('Last-Event-ID', broken)
      .expect(400);
    expect(body.errors).toEqual([expect.objectContaining({ in: 'header', name: 'Last-Event-ID' })]);
  });

  it('report what is no cursor together with every other fault', async () => {
    const { body } = await service
      .get('/v1/markets/stream?eventId=a&since=no&conflateMs=no&take=1')
      .set('Last-Event-ID', 'no')
      .expect(400);
    const names = body.errors.map(({ name }: { name: string }) => name);
    expect(names.toSorted()).toEqual(['Last-Event-ID', 'conflateMs', 'since', 'take']);
  });

  it('name the id that has too much', async () => {
    const [eventId, other] = [randomUUID(), randomUUID()];
    await markets().insertMany(
      Array.from({ length: 2_001 }, () => aMarket({ eventId })) as never[],
    );
    await told();
    for (const path of ['changes', 'stream']) {
      const query = `eventId=${other}&eventId=${eventId}`;
      const { status, body } = await inTime(() => service.get(`/v1/markets/${path}?${query}`));
      expect([status, body.code]).toEqual([400, 'too_much_data']);
      expect(body.detail).toContain(eventId);
    }
  });

  it('cost one request for every ten ids begun, all or nothing', async () => {
    const { key } = await service.keys.create({ name: 'limited', rateLimit: 7 });
    const ids = Array.from({ length: 21 }, () => `eventId=${randomUUID()}`).join('&');
    const ask = () => fetch(`${service.url}/v1/markets/changes?${ids}&api_key=${key}`);
    const left = async () => {
      const answer = await ask();
      return [answer.status, /r=(\d+)/.exec(answer.headers.get('RateLimit') ?? '')?.[1]];
    };
    expect(await left()).toEqual([200, '4']);
    expect(await left()).toEqual([200, '1']);
    expect((await left())[0]).toBe(429);
  });
});

describe('GET /v1/markets/changes, when memory is lost while it is prepared,', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('tells all that MongoDB has of an id whose markets can not be kept', async () => {
    const body = await toldAfter(async (eventId) => {
      await markets().drop();
      await until(() => service.app.get(WatchedScopes).get(`eventId:${eventId}`) === undefined);
    });
    expect(body).toMatchObject({ data: [{ reset: true, changed: [], removed: [] }] });
  });

  it('tells all that MongoDB has when the change feed has failed', async () => {
    const feed = service.app.get(ChangeFeed);
    const command = jest.spyOn(ReadAttempt.prototype, 'command');
    const body = await toldAfter(async () => {
      jest.spyOn(feed, 'ageMs', 'get').mockReturnValue(Infinity);
      command.mockClear();
    });
    // A majority may have less than the primary, and less than the caller: the snapshot waits for it.
    const readConcern = { level: 'snapshot', afterClusterTime: expect.any(Timestamp) };
    expect(command).toHaveBeenCalledWith(expect.objectContaining({ readConcern }));
    const group = { reset: true, changed: [expect.anything()], removed: [] };
    expect(body).toMatchObject({ data: [group], meta: { ageMs: expect.any(Number) } });
  });

  it('tells all that MongoDB has after an answer without a position, which may have been newer', async () => {
    const [market] = await stored({});
    const { _id, eventId = '' } = market ?? {};
    const watch = new Watch(
      [`eventId:${eventId}`],
      {},
      `${service.database.db.databaseName}.markets`,
    );
    const since = watch.cursorAt(new Timestamp({ t: 0, i: 0 }));
    await changes(`eventId=${eventId}`);
    const memory = service.app.get(WatchGroups);
    jest.spyOn(memory, 'groups').mockReturnValue(memory.groups(watch, undefined));
    await markets().updateOne({ _id: _id as never }, { $set: { name: 'new' } });
    const { data } = await changes(`eventId=${eventId}&since=${since}`);
    expect(data).toMatchObject([{ reset: true, changed: [{ name: 'new' }] }]);
  });

  it('asks for another try where MongoDB has not reached the cursor either', async () => {
    const feed = service.app.get(ChangeFeed);
    jest.spyOn(feed, 'ageMs', 'get').mockReturnValue(Infinity);
    jest.spyOn(feed, 'status', 'get').mockReturnValue({ state: 'blind', ageMs: Infinity });
    const position = new Timestamp({ t: Math.ceil(Date.now() / 1_000) + 60, i: 1 });
    const since = writeCursor({ position, watchHash: '00'.repeat(8) });
    const { status, body } = await service.get(`/v1/markets/changes?eventId=e&since=${since}`);
    expect([status, body.code]).toEqual([503, 'database_unavailable']);
  });
});

describe('GET /v1/markets/changes, resets:', () => {
  it('a cursor of other ids or filters', async () => {
    const [eventId, other] = [randomUUID(), randomUUID()];
    await stored({ eventId });
    const { meta } = await changes(`eventId=${other}`);
    const { data } = await changes(`eventId=${eventId}&since=${meta.cursor}`);
    expect(data).toEqual([expect.objectContaining({ eventId, reset: true })]);
    const filtered = await changes(`eventId=${other}&marketMoment=live&since=${meta.cursor}`);
    expect(filtered.data).toEqual([expect.objectContaining({ reset: true })]);
  });

  it('a cursor from before the collection was dropped', async () => {
    const eventId = randomUUID();
    await stored({ eventId });
    const { meta } = await changes(`eventId=${eventId}`);
    await markets().drop();
    const [one] = await stored({ eventId });
    const query = `eventId=${eventId}&since=${meta.cursor}`;
    const reset = [{ eventId, reset: true, changed: [shown(one ?? {})], removed: [] }];
    expect((await changes(query)).data).toEqual(reset);
    const restarted = await restart();
    try {
      const { body } = await inTime(() => restarted.get(`/v1/markets/changes?${query}`));
      expect(body.data).toEqual(reset);
    } finally {
      await restarted.close();
    }
  });

  it('a cursor from before another collection was put in place of it, after a restart, too', async () => {
    const query = `eventId=${randomUUID()}`;
    const cursor = await lastingCursor(query);
    const next = service.database.db.collection('next');
    await next.insertOne(aMarket() as never);
    await onceIndexesAreBuilt(() => next.rename('markets', { dropTarget: true }));
    // Of the last write the feed would tell once more.
    await stored({});
    const restarted = await restart();
    try {
      // From here on it answers from memory.
      await lastingCursor(query, restarted);
      const { data } = await changes(`${query}&since=${cursor}`, restarted);
      expect(data).toEqual([expect.objectContaining({ reset: true })]);
    } finally {
      await restarted.close();
    }
  });

  it('a cursor from before the collection was made, as by a restore, or of another database', async () => {
    const eventId = randomUUID();
    const { operationTime } = await service.database.connection.db!.command({ ping: 1 });
    const first = await createTestApp();
    const { mongodbUri } = first.config;
    await initDatabase(first.database.connection);
    const restored = await restart({ mongodbUri });
    try {
      const { meta } = await changes(`eventId=${eventId}`);
      const { name } = restored.database.connection;
      const watch = new Watch([`eventId:${eventId}`], {}, `${name}.markets`);
      for (const cursor of [watch.cursorAt(operationTime), meta.cursor]) {
        const path = `/v1/markets/changes?eventId=${eventId}&since=${cursor}`;
        const { body } = await restored.get(path).expect(200);
        expect(body.data).toEqual([{ eventId, reset: true, changed: [], removed: [] }]);
      }
    } finally {
      await restored.close();
      await first.close();
    }
  });

  it('nothing after a restart, but for what nobody knows', async () => {
    const [eventId, elsewhere] = [randomUUID(), randomUUID()];
    // Images can't be turned on while the service is building its indexes again.
    await until(async () =>
      (await initDatabase(service.database.connection)).every(({ ok }) => ok),
    );
    const [one, two, three] = await stored({ eventId }, { eventId }, { eventId });
    const query = `eventId=${eventId}&eventId=${elsewhere}`;
    const cursor = await lastingCursor(query);
    await markets().updateOne({ _id: one?._id as never }, { $set: { name: 'new' } });
    await markets().updateOne({ _id: two?._id as never }, { $set: { eventId: elsewhere } });
    await markets().deleteOne({ _id: three?._id as never });
    const restarted = await restart();
    try {
      const path = `/v1/markets/changes?${query}&since=${cursor}`;
      let body: { readonly data?: readonly Group[] } = {};
      // While the feed is late on a busy machine, an answer is a reset read from MongoDB: the next is not.
      await until(async () => {
        ({ body } = await restarted.get(path));
        return !body.data?.some(({ reset }) => reset);
      }, 5_000).catch(() => undefined);
      expect(body.data ?? body).toEqual([
        {
          eventId,
          reset: false,
          changed: [{ ...shown(one ?? {}), name: 'new' }],
          removed: expect.arrayContaining([two?._id, three?._id]),
        },
        {
          eventId: elsewhere,
          reset: false,
          changed: [{ ...shown(two ?? {}), eventId: elsewhere }],
          removed: [],
        },
      ]);
    } finally {
      await restarted.close();
    }
  });
});

describe('GET /v1/markets/stream', () => {
  it('begins with a snapshot, then tells each change', async () => {
    const eventId = randomUUID();
    const [one] = await stored({ eventId });
    const stream = await open(`eventId=${eventId}`);
    const current = await stream.named('current');
    expect(stream.events.map(({ event, id }) => [event, id !== undefined])).toEqual([
      ['changes', false],
      ['current', true],
    ]);
    expect(current.id).toMatch(/^[\w-]{1,256}$/);
    expect(stream.markets.of(`eventId:${eventId}`)).toEqual([shown(one ?? {})]);
    await markets().updateOne({ eventId }, { $set: { name: 'new' } });
    const change = await stream.event(({ event, id }) => event === 'changes' && id !== undefined);
    expect(change.data.data).toEqual([
      { eventId, reset: false, changed: [{ ...shown(one ?? {}), name: 'new' }], removed: [] },
    ]);
  });

  it('tells what changed together in the order of its own ids, not in that of a stream beside it', async () => {
    const [eventId, fixtureId] = [randomUUID(), randomUUID()];
    await stored({ eventId }, { fixtureId });
    const queries = [
      `eventId=${eventId}&fixtureId=${fixtureId}`,
      `fixtureId=${fixtureId}&eventId=${eventId}`,
    ];
    const both = await Promise.all(queries.map((query) => open(query)));
    for (const stream of both) await stream.named('current');
    await service.database.connection.transaction(async (session) => {
      const ofBoth = { $or: [{ eventId }, { fixtureId }] };
      await markets().updateMany(ofBoth, { $set: { name: 'moved' } }, { session });
    });
    const moves = await Promise.all(both.map((stream) => stream.event(tells('moved'))));
    const orders = moves.map(({ data }) => data.data?.map((group) => Object.keys(group)[0]));
    expect(orders).toEqual([
      ['eventId', 'fixtureId'],
      ['fixtureId', 'eventId'],
    ]);
  });

  it('tells what meets its own filters, not those of a stream beside it', async () => {
    const eventId = randomUUID();
    const moments = ['live', 'prelive'] as const;
    await stored(...moments.map((marketMoment) => ({ eventId, marketMoment })));
    const both = await Promise.all(
      moments.map((moment) => open(`eventId=${eventId}&marketMoment=${moment}`)),
    );
    for (const stream of both) await stream.named('current');
    await service.database.connection.transaction(async (session) => {
      await markets().updateMany({ eventId }, { $set: { name: 'moved' } }, { session });
    });
    const moves = await Promise.all(both.map((stream) => stream.event(tells('moved'))));
    const changed = moves.map(({ data }) => data.data?.flatMap((group) => group.changed));
    expect(changed).toEqual(
      moments.map((marketMoment) => [expect.objectContaining({ marketMoment, name: 'moved' })]),
    );
  });

  it('is sent as it is, with headers against whoever would keep it', async () => {
    const stream = await open(`eventId=${randomUUID()}`, { 'Accept-Encoding': 'gzip, br' });
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'private, no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(stream.response.headers['content-encoding']).toBeUndefined();
    await stream.named('current');
    expect(stream.retryMs).toBeGreaterThanOrEqual(500);
    expect(stream.retryMs).toBeLessThanOrEqual(3_000);
  });

  it.each(['HEAD', 'POST', 'OPTIONS'])('is no place for %s', async (method) => {
    const url = `${service.url}/v1/markets/stream?eventId=a&api_key=${service.key}`;
    const answer = await fetch(url, { method });
    expect([answer.status, answer.headers.get('Allow')]).toEqual([405, 'GET']);
  });

  it('goes on from the id of an event, which goes before `since`', async () => {
    const eventId = randomUUID();
    const [one, two] = await stored({ eventId }, { eventId });
    const stream = await open(`eventId=${eventId}`);
    const { id = '' } = await stream.named('current');
    stream.close();
    await markets().updateOne({ _id: one?._id as never }, { $set: { name: 'new' } });
    await markets().deleteOne({ _id: two?._id as never });
    const { meta } = await changes(`eventId=${eventId}`);
    const resumed = await open(`eventId=${eventId}&since=${meta.cursor}`, { 'Last-Event-ID': id });
    await resumed.named('current');
    expect(resumed.events.map(({ event, data }) => [event, data.data])).toEqual([
      [
        'changes',
        [
          {
            eventId,
            reset: false,
            changed: [{ ...shown(one ?? {}), name: 'new' }],
            removed: [two?._id],
          },
        ],
      ],
      ['current', undefined],
    ]);
  });

  it('tells what no longer meets the filters, and is silent of what never did', async () => {
    const eventId = randomUUID();
    const [one, two] = await stored(
      { eventId, marketMoment: 'live' },
      { eventId, marketMoment: 'live' },
    );
    await markets().updateOne({ _id: two?._id as never }, { $set: { marketMoment: 'prelive' } });
    await told();
    const stream = await open(`eventId=${eventId}&marketMoment=live`);
    const { id } = await stream.named('current');
    await markets().updateOne({ _id: two?._id as never }, { $set: { name: 'silent' } });
    await markets().updateOne({ _id: one?._id as never }, { $set: { marketMoment: 'prelive' } });
    const change = await stream.event((event) => event.id !== undefined && event.id !== id);
    expect(change.data.data).toEqual([{ eventId, reset: false, changed: [], removed: [one?._id] }]);
  });

  it('keeps its markets, however long ago it was opened', async () => {
    const eventId = randomUUID();
    await stored({ eventId });
    const stream = await open(`eventId=${eventId}`);
    await stream.named('current');
    service.app.get(WatchedScopes).expire(performance.now() + 3_600_000);
    await markets().updateOne({ eventId }, { $set: { name: 'much later' } });
    expect((await stream.event(tells('much later'))).event).toBe('changes');
  });

  it('goes on with a reset after a drop', async () => {
    const eventId = randomUUID();
    await stored({ eventId });
    const stream = await open(`eventId=${eventId}`);
    await stream.named('current');
    await markets().drop();
    const reset = await stream.event(({ id, data }) => !!id && data.data?.[0]?.reset === true);
    expect(reset.data.data).toEqual([{ eventId, reset: true, changed: [], removed: [] }]);
    const [one] = await stored({ eventId });
    await stream.event(({ data }) => data.data?.[0]?.changed.length === 1 && !data.data[0].reset);
    expect(stream.markets.of(`eventId:${eventId}`)).toEqual([shown(one ?? {})]);
  });

  it('conflates for as long as the caller wants', async () => {
    const eventId = randomUUID();
    await stored({ eventId });
    const stream = await open(`eventId=${eventId}&conflateMs=600`);
    const { id: first } = await stream.named('current');
    const begunAt = performance.now();
    for (let price = 2; price < 12; price += 1) {
      await markets().updateOne({ eventId }, { $set: { 'runners.0.price': price } });
      await told();
    }
    await stream.event(({ data }) => data.data?.[0]?.changed[0]?.runners[0]?.price === 11);
    const tookMs = performance.now() - begunAt;
    const told10 = stream.events.filter(
      ({ event, id }) => event === 'changes' && id && id !== first,
    );
    expect(told10.length).toBeLessThanOrEqual(1 + Math.ceil(tookMs / 600));
  });

  it('tells a caller who conflates as much as one beside it who does not', async () => {
    const eventId = randomUUID();
    const [one, two] = await stored({ eventId }, { eventId });
    await told();
    const [quick, slow] = [
      await open(`eventId=${eventId}`),
      await open(`eventId=${eventId}&conflateMs=600`),
    ];
    for (const stream of [quick, slow]) await stream.named('current');
    for (const [market, name] of [
      [one, 'first'],
      [one, 'second'],
      [two, 'third'],
    ] as const) {
      await markets().updateOne({ _id: market?._id as never }, { $set: { name } });
      await quick.event(tells(name));
    }
    await slow.event(tells('third'));
    const names = slow.markets.of(`eventId:${eventId}`).map(({ name }) => name);
    expect(names).toEqual(['second', 'third']);
  });
});

describe('a stream that is refused', () => {
  it('is one more than its key may have; others stay', async () => {
    const { key } = await service.keys.create({ name: 'few', streams: 2 });
    const query = `eventId=${randomUUID()}`;
    const held = [await open(query, {}, key), await open(query, {}, key)];
    const prepare = jest.spyOn(service.app.get(WatchPreparation), 'prepare');
    const refused = await open(query, {}, key);
    expect(refused.response.statusCode).toBe(429);
    expect(prepare).not.toHaveBeenCalled();
    prepare.mockRestore();
    expect(held.map(({ isOver }) => isOver)).toEqual([false, false]);
    held[0]?.close();
    await until(async () => (await open(query, {}, key)).response.statusCode === 200);
  });

  it('is one more than its key may have, when all come at the same time', async () => {
    const { key } = await service.keys.create({ name: 'quick', streams: 2 });
    const query = `eventId=${randomUUID()}`;
    // While they are prepared none is open yet.
    const preparation = service.app.get(WatchPreparation);
    const prepare = preparation.prepare.bind(preparation);
    let prepared = 0;
    jest.spyOn(preparation, 'prepare').mockImplementation(async (question) => {
      const unavailable = await prepare(question);
      prepared += 1;
      await until(() => prepared === 5);
      return unavailable;
    });
    const all = await Promise.all(Array.from({ length: 5 }, () => open(query, {}, key)));
    jest.restoreAllMocks();
    const statuses = all.map(({ response }) => response.statusCode ?? 0);
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status === 429)).toHaveLength(3);
  });

  it('is any of a key that may have none', async () => {
    const { key } = await service.keys.create({ name: 'none', streams: 0 });
    const refused = service.getOpen('/v1/markets/stream?eventId=a').set('X-API-Key', key);
    const { body, headers } = await refused.timeout(2_000).expect(429);
    expect(body.code).toBe('too_many_streams');
    expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });

  it.each([
    ['its request was charged', () => jest.spyOn(service.app.get(RequestLimit), 'consume')],
    ['it was prepared', () => jest.spyOn(service.app.get(WatchPreparation), 'prepare')],
  ])('is none whose caller left while %s: it is not counted', async (_when, step) => {
    const { key } = await service.keys.create({ name: 'hasty', streams: 1 });
    const query = `eventId=${randomUUID()}`;
    // What it asks for is in memory already: nothing else may be the reason that there is no stream.
    await service.get(`/v1/markets/changes?${query}`).expect(200);
    const leaving = new AbortController();
    const gone = once(service.app.getHttpServer(), 'request').then(([, response]) =>
      once(response, 'close'),
    );
    step().mockImplementationOnce(async () => {
      leaving.abort();
      await gone;
      return undefined;
    });
    const headers = { 'X-API-Key': key };
    const left = fetch(`${service.url}/v1/markets/stream?${query}`, {
      headers,
      signal: leaving.signal,
    });
    await expect(left).rejects.toThrow('abort');
    await gone;
    jest.restoreAllMocks();
    expect((await open(query, {}, key)).response.statusCode).toBe(200);
    // Those of earlier tests are closing.
    await until(() => service.app.get(StreamHub).count === 1);
  });

  it('is one more than the process may have, or any where there is no room', async () => {
    const { mongodbUri } = service.config;
    const small = await createTestApp({ mongodbUri, dbInit: false, streamsMax: 0 });
    try {
      await small.get(`/v1/markets/changes?eventId=a`).expect(200);
      const { body } = await small.get(`/v1/markets/stream?eventId=a`).expect(503);
      expect(body.code).toBe('overloaded');
    } finally {
      await small.close();
    }
  });
});

describe('a stream ends', () => {
  it('when its key is revoked, as do all of that key', async () => {
    // However soon after a check that is, and though reading the key takes a while.
    expect(service.app.get(StreamTimes).checkKeysEveryMs).toBeLessThanOrEqual(1_000);
    const keys = service.keys;
    const { key, id } = await keys.create({ name: 'short' });
    const query = `eventId=${randomUUID()}`;
    const all = await Promise.all(Array.from({ length: 4 }, () => open(query, {}, key)));
    for (const stream of all) await stream.named('current');
    // One that can't be checked ends nothing.
    const read = jest
      .spyOn(service.app.get(KeyRecords), 'read')
      .mockRejectedValue(new Error('away'));
    await until(() => read.mock.calls.some(([checked]) => checked === id));
    read.mockRestore();
    expect(service.app.get(StreamHub).count).toBeGreaterThanOrEqual(all.length);
    const revokedAt = performance.now();
    await keys.revoke(id);
    for (const stream of all) {
      const end = await stream.named('end');
      expect(end.data).toEqual({ reason: 'key' });
      expect(end.at - revokedAt).toBeLessThan(2_000);
      await stream.over();
    }
  });

  it('when it grows above what may be watched', async () => {
    const eventId = randomUUID();
    const many = Array.from({ length: 1_999 }, () => aMarket({ eventId }));
    await markets().insertMany(many as never[]);
    await told();
    const stream = await open(`eventId=${eventId}`);
    await stream.named('current');
    await stored({ eventId }, { eventId }, { eventId });
    expect((await stream.named('end')).data).toEqual({ reason: 'size' });
  });

  it('at once when it was prepared while the process began to shut down', async () => {
    const hub = service.app.get(StreamHub);
    jest.spyOn(service.app.get(WatchPreparation), 'prepare').mockImplementationOnce(async () => {
      hub.isDraining = true;
      return undefined;
    });
    try {
      const stream = await open('eventId=a');
      expect((await stream.named('end')).data.reason).toBe('draining');
    } finally {
      hub.isDraining = false;
      jest.restoreAllMocks();
    }
  });

  it('when the process shuts down, as its last word', async () => {
    const other = await restart();
    const hub = other.app.get(StreamHub);
    const both = [
      await open('eventId=a', {}, other.key, other),
      await open('eventId=b', {}, other.key, other),
    ];
    for (const stream of both) await stream.named('current');
    const drained = hub.drain();
    // Not all at once: their clients would all come back together.
    expect(hub.count).toBe(1);
    await drained;
    for (const stream of both) {
      await stream.over();
      expect(stream.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'draining' } });
    }
    // Of a new one, too: after a 503 browsers would not come back.
    const late = await open('eventId=a', {}, other.key, other);
    expect((await late.named('end')).data.reason).toBe('draining');
    await other.close();
  });
});

it('streams are counted, logged once and no part of the request histogram', async () => {
  const stream = await open(`eventId=${randomUUID()}`);
  await stream.named('current');
  const requestId = String(stream.response.headers['x-request-id']);
  const lines = () => service.logged.filter((text) => text.includes(requestId));
  stream.close();
  await until(() => lines().length > 0);
  expect(lines().map((line) => JSON.parse(line))).toMatchObject([
    {
      route: '/v1/markets/stream',
      status: 200,
      events: stream.events.length,
      endReason: 'left',
    },
  ]);
  const metrics = await service.app.get(Metrics).registry.metrics();
  expect(metrics).toMatch(/streams_ended_total{reason="left"} [1-9]/);
  expect(metrics).not.toMatch(
    /duration_seconds_count{method="GET",route="\/v1\/markets\/stream",status="200"}/,
  );
});

it('a market is told as removed though MongoDB keeps no images of what was deleted', async () => {
  const own = await createTestApp({ dbInit: false });
  const collection: Collection = own.database.db.collection('markets');
  const eventId = randomUUID();
  try {
    const market = { ...aMarket({ eventId }), _id: randomUUID() };
    await collection.insertOne(market as never);
    const query = `eventId=${eventId}`;
    const cursor = await lastingCursor(query, own);
    const stream = await open(query, {}, own.key, own);
    const { id } = await stream.named('current');
    await collection.deleteOne({ eventId });
    const removed = [{ eventId, reset: false, changed: [], removed: [market._id] }];
    expect((await changes(`${query}&since=${cursor}`, own)).data).toEqual(removed);
    const change = await stream.event((event) => event.id !== undefined && event.id !== id);
    expect(change.data.data).toEqual(removed);
  } finally {
    await own.close();
  }
});

it('what was held back for a client is not written once the client has left', async () => {
  const eventId = randomUUID();
  await stored({ eventId });
  const stream = await open(`eventId=${eventId}&conflateMs=2000`);
  await stream.named('current');
  const hub = service.app.get(StreamHub);
  const written = jest.spyOn(hub.observer as StreamObserver, 'written');
  try {
    for (const name of ['told', 'held back', 'held back as well']) {
      await markets().updateOne({ eventId }, { $set: { name } });
      await told();
    }
    stream.close();
    await until(() => hub.count === 0);
    await delay(2_100);
    expect(written).toHaveBeenCalledTimes(1);
  } finally {
    written.mockRestore();
  }
});

it('a stream goes on when the first attempt to load its markets again fails', async () => {
  const mongod = await TestMongod.start();
  const own = await createTestApp({ mongodbUri: monitored(mongod.uri) });
  const { connection, db } = own.database;
  try {
    await told(own);
    const url = `${own.url}/v1/markets/stream?eventId=e`;
    const stream = await StreamClient.open(url, { 'X-API-Key': own.key });
    streams.push(stream);
    await stream.named('current');
    const failing = { failCommands: ['find'], namespace: `${db.databaseName}.markets` };
    await setFailCommand(mongod, { times: 1 }, { ...failing, errorCode: 50 });
    const reads = await readsDuring(connection, async () => {
      await db.collection('markets').drop();
      await stream.event(({ id, data }) => !!id && data.data?.[0]?.reset === true);
    });
    expect(reads.filter(({ find }) => find === 'markets').length).toBeGreaterThan(1);
    expect(stream.names).not.toContain('end');
  } finally {
    await own.close();
    await mongod.stop();
  }
});

it('a stream is told what was written when the feed had failed, and could not go on where it was', async () => {
  const mongod = await TestMongod.start();
  const own = await createTestApp({ mongodbUri: mongod.uri });
  const collection = own.database.db.collection('markets');
  try {
    await collection.insertOne(aMarket({ eventId: 'e' }) as never);
    const stream = await open('eventId=e', {}, own.key, own);
    await stream.named('current');
    // What reads the past could meet the failure in place of the feed.
    await until(() => !own.app.get(HistoryBackfill).isFilling);
    const HISTORY_LOST = 286;
    const failing = { failCommands: ['getMore'], errorCode: HISTORY_LOST };
    await setFailCommand(mongod, { times: 1 }, failing);
    await until(() => own.app.get(ChangeFeed).ageMs === Infinity);
    await collection.updateOne({ eventId: 'e' }, { $set: { name: 'meanwhile' } });
    expect((await stream.event(tells('meanwhile'))).event).toBe('changes');
  } finally {
    await own.close();
    await mongod.stop();
  }
});

it('a stream ends when there are too many markets after its collection was made anew', async () => {
  const own = await createTestApp();
  const { db } = own.database;
  try {
    await told(own);
    const url = `${own.url}/v1/markets/stream?eventId=e`;
    const stream = await StreamClient.open(url, { 'X-API-Key': own.key });
    streams.push(stream);
    await stream.named('current');
    const many = Array.from({ length: 2_001 }, () => aMarket({ eventId: 'e' }));
    const next = db.collection('next');
    await next.insertMany(many as never[]);
    await next.rename('markets', { dropTarget: true });
    expect((await stream.named('end')).data).toEqual({ reason: 'size' });
  } finally {
    await own.close();
  }
});

it('a standalone MongoDB: each answer a reset with what meets the filters, and no streams', async () => {
  const mongod = await TestMongod.start({ members: 0 });
  const alone = await createTestApp({ mongodbUri: mongod.uri });
  try {
    const [one] = [{ ...aMarket({ eventId: 'e' }), _id: 'a' }];
    await alone.database.db.collection('markets').insertOne(one as never);
    const { body } = await alone.get('/v1/markets/changes?eventId=e').expect(200);
    const group = { eventId: 'e', reset: true, changed: [shown(one ?? {})], removed: [] };
    expect(body.data).toEqual([group]);
    const again = await alone.get(`/v1/markets/changes?eventId=e&since=${body.meta.cursor}`);
    expect(again.body.data).toEqual([group]);
    for (const [status, changed] of [
      ['CLOSED', []],
      [one?.marketStatus, group.changed],
    ] as const) {
      const query = `eventId=e&marketStatus=${status}`;
      const filtered = await alone.get(`/v1/markets/changes?${query}`).expect(200);
      expect(filtered.body.data).toEqual([{ ...group, changed }]);
    }
    const many = Array.from({ length: 2_001 }, () => aMarket({ eventId: 'large', runners: [] }));
    await alone.database.db.collection('markets').insertMany(many as never[]);
    const large = await alone.get('/v1/markets/changes?eventId=large').expect(400);
    expect(large.body.code).toBe('too_much_data');
    // What is written while MongoDB is read may be missing.
    const readMs = 200;
    const slow = { failCommands: ['find'], blockConnection: true, blockTimeMS: readMs };
    await setFailCommand(mongod, 'alwaysOn', slow);
    const late = await alone.get('/v1/markets/changes?eventId=e').expect(200);
    await setFailCommand(mongod, 'off');
    expect(late.body.meta.ageMs).toBeGreaterThanOrEqual(readMs);
    const refused = await alone.get('/v1/markets/stream?eventId=e').expect(503);
    expect(refused.body.code).toBe('changes_unavailable');
  } finally {
    await alone.close();
    await mongod.stop();
  }
});

it('a stream is opened though MongoDB says nothing for half a second', async () => {
  const mongod = await TestMongod.start();
  const own = await createTestApp({ mongodbUri: mongod.uri });
  try {
    const feed = own.app.get(ChangeFeed);
    const url = `${own.url}/v1/markets/stream?eventId=e`;
    // On a busy machine the feed may take longer to go on.
    await until(async () => {
      await open('eventId=e', {}, own.key, own);
      await mongod.kill('SIGSTOP');
      await until(() => !feed.isCurrent);
      const opening = StreamClient.open(url, { 'X-API-Key': own.key });
      await delay(500);
      await mongod.kill('SIGCONT');
      const stream = await opening;
      streams.push(stream);
      return stream.response.statusCode === 200;
    });
  } finally {
    await own.close();
    await mongod.stop();
  }
});

it('without a primary: an age that a secondary may have, and nothing from before a cursor', async () => {
  const mongod = await TestMongod.start();
  const own = await createTestApp({ mongodbUri: mongod.uri });
  const administer = (command: object) =>
    onMember(mongod, 0, (client) => client.db('admin').command(command));
  const ask = (since = '') => own.get(`/v1/markets/changes?eventId=e${since}`);
  try {
    await told(own);
    await administer({ replSetStepDown: 60, force: true });
    await until(() => own.app.get(ChangeFeed).ageMs === Infinity);
    const answers: { body: { meta: { cursor: string; ageMs: number } } }[] = [];
    await until(async () => {
      const answer = await ask(answers.map(({ body }) => `&since=${body.meta.cursor}`).at(-1));
      if (answer.status === 200) answers.push(answer);
      return answers.length === 2;
    });
    for (const { body } of answers) {
      expect(body.meta.ageMs).toBeGreaterThanOrEqual(SECONDARY_AGE_MS);
    }
    const ahead = new Timestamp({ t: Math.floor(Date.now() / 1_000) + 1_000, i: 0 });
    const cursor = new Watch(['eventId:e'], {}).cursorAt(ahead);
    const refused = await ask(`&since=${cursor}`).expect(503);
    expect(refused.body.code).toBe('database_unavailable');
    // With a primary it closes sooner.
    await administer({ replSetFreeze: 0 });
  } finally {
    await own.close();
    await mongod.stop();
  }
});
