import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket } from '../factories.js';
import { TestMongod } from '../mongo.js';

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
    await service.database.db.collection('markets').insertMany(all as never[]);
  }
});
afterAll(async () => {
  await service.close();
  await mongod.stop();
});

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
  const { body } = await ask(EVENTS).expect(400);
  expect(body.code).toBe('too_much_data');
  expect(body.errors).toEqual([
    { in: 'query', name: 'eventId', detail: expect.stringContaining('"f"') },
  ]);
});

it('an event whose markets do not fit one reply of MongoDB is told whole', async () => {
  const large = Array.from({ length: 18 }, () =>
    aMarket({ eventId: 'large', name: 'x'.repeat(1024 * 1024) }),
  );
  await service.database.db.collection('markets').insertMany(large as never[]);
  const { body } = await ask(['large']).expect(200);
  expect(body.data[0].changed).toHaveLength(18);
});
