import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { allTold, createTestApp, type TestApp } from '../app.js';
import { aMarket, storeEvent } from '../factories.js';
import { TestMongod } from '../mongo.js';
import { openStream } from '../open-stream.js';
import { inTime, until } from '../until.js';

const PER_EVENT = 1_900;

/** With the last one there are more than 10,000 markets. */
const EVENTS = ['a', 'b', 'c', 'd', 'e', 'f'];

let mongod: TestMongod;
let service: TestApp;

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await createTestApp({ mongodbUri: mongod.uri });
  for (const eventId of EVENTS) {
    const all = Array.from({ length: PER_EVENT }, () => aMarket({ eventId }));
    await markets().insertMany(all as never[]);
  }
});
afterAll(async () => {
  await service.close();
  await mongod.stop();
});

const markets = () => service.database.db.collection('markets');

const told = () => allTold(service);

const ask = (events: readonly string[]) =>
  service.get(`/v1/markets/changes?${events.map((id) => `eventId=${id}`).join('&')}`);

it('9,500 markets that nobody has asked for are answered in 2 s', async () => {
  const since = performance.now();
  const { body } = await ask(EVENTS.slice(0, 5)).expect(200);
  expect(performance.now() - since).toBeLessThan(2_000);
  const counts = body.data.map(({ changed }: { changed: unknown[] }) => changed.length);
  expect(counts).toEqual([PER_EVENT, PER_EVENT, PER_EVENT, PER_EVENT, PER_EVENT]);
});

it('more than 10,000 markets in all are too many: the id is named with which they are', async () => {
  const { status, body } = await inTime(() => ask(EVENTS));
  expect([status, body.code]).toEqual([400, 'too_much_data']);
  expect(body.errors).toEqual([
    { in: 'query', name: 'eventId', detail: expect.stringContaining('"f"') },
  ]);
});

it('an event whose markets do not fit one reply of MongoDB is told whole', async () => {
  const large = Array.from({ length: 18 }, () =>
    aMarket({ eventId: 'large', name: 'x'.repeat(1024 * 1024) }),
  );
  await markets().insertMany(large as never[]);
  const { body } = await ask(['large']).expect(200);
  expect(body.data[0].changed).toHaveLength(18);
});

it('changes and streams name the id with which all together are too much, though memory has each of them', async () => {
  const ids = Array.from({ length: 6 }, () => randomUUID());
  for (const eventId of ids) {
    const many = Array.from({ length: 2_000 }, () => aMarket({ eventId, runners: [] }));
    await markets().insertMany(many as never[]);
    await told();
    const { body } = await inTime(() => ask([eventId]));
    expect(body.data[0].changed).toHaveLength(2_000);
  }
  for (const path of ['changes', 'stream']) {
    const query = ids.map((eventId) => `eventId=${eventId}`).join('&');
    const { status, body } = await inTime(() => service.get(`/v1/markets/${path}?${query}`));
    expect([status, body.code]).toEqual([400, 'too_much_data']);
    expect(body.detail).toContain(ids[5]);
  }
});

it('no id is held for whole that was asked for beside one with too much', async () => {
  const [eventId, other] = [randomUUID(), randomUUID()];
  // The look for both ends after 4,001 markets.
  const many = Array.from({ length: 4_001 }, () => aMarket({ eventId, runners: [] }));
  const few = Array.from({ length: 3 }, () => aMarket({ eventId: other }));
  await markets().insertMany([...many, ...few] as never[]);
  await told();
  const refused = await inTime(() => ask([eventId, other]));
  expect([refused.status, refused.body.code]).toEqual([400, 'too_much_data']);
  expect(refused.body.detail).toContain(eventId);
  const alone = await inTime(() => ask([other]));
  expect(alone.body.data[0].changed).toHaveLength(3);
  const { body } = await service.get(`/v1/markets/market/provider/${other}`).expect(200);
  expect(body.data).toHaveLength(3);
});

it('a transaction too large to be held is told whole', async () => {
  const fixtureId = randomUUID();
  const count = 1_100;
  await markets().insertMany(
    Array.from({ length: count }, () => aMarket({ fixtureId })) as never[],
  );
  await told();
  const path = `/v1/markets/changes?fixtureId=${fixtureId}`;
  const { body: before } = await inTime(() => service.get(path));
  // Its events take more than 32 MB, and several replies.
  const $set = { name: 'new', other: 'x'.repeat(16_000) };
  await service.database.db.client.withSession((session) =>
    session.withTransaction(() => markets().updateMany({ fixtureId }, { $set }, { session })),
  );
  await told();
  // MongoDB answers, for which a busy machine may need too long.
  let body: { data: { changed: unknown[] }[] } | undefined;
  await until(async () => {
    const answer = await service.get(`${path}&since=${before.meta.cursor}`);
    body = answer.body;
    return answer.status === 200;
  });
  expect(body?.data[0]?.changed).toHaveLength(count);
  await markets().deleteMany({ fixtureId });
});

it('a stream ends when it grows above what may be watched: others go on, even while it leaves that unread', async () => {
  const { mongodbUri } = service.config;
  const small = await createTestApp({ mongodbUri, dbInit: false, watchMaxMb: 10, cacheMaxMb: 0 });
  const eventId = randomUUID();
  const large = (name: string) => Array.from({ length: 900 }, () => aMarket({ eventId, name }));
  try {
    await markets().insertMany(large('m'.repeat(8_000)) as never[]);
    const other = await storeEvent(small.database.connection, 1);
    const innocent = await openStream(small, `eventId=${other}`);
    await innocent.named('current');
    const { key } = await small.keys.create({ name: 'other' });
    const unread = await openStream({ ...small, key }, `eventId=${eventId}`);
    unread.response.pause();
    await markets().updateMany({ eventId }, { $set: { name: 'n'.repeat(16_000) } });
    await allTold(small);
    for (const name of ['x', 'y']) {
      await markets().updateOne({ eventId: other }, { $set: { name } });
      await allTold(small);
    }
    await until(() => innocent.events.some(({ id, event }) => id && event === 'changes'));
    expect(innocent.events.map(({ event }) => event)).not.toContain('end');
    await small.get(`/v1/markets/changes?eventId=${other}`).expect(200);
    innocent.close();
    unread.close();
  } finally {
    await small.close();
    await markets().deleteMany({ eventId });
  }
});
