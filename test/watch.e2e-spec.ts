import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Collection } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import type { Market } from '../src/markets/market.schema.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket } from './factories.js';
import { StreamClient } from './watch-client.js';

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

async function open(query: string, headers = {}, key = service.key): Promise<StreamClient> {
  const url = `${service.url}/v1/markets/stream?${query}`;
  const stream = await StreamClient.open(url, { 'X-API-Key': key, ...headers });
  streams.push(stream);
  return stream;
}

/** Resolves when the service knows all that is written by now. */
async function told(): Promise<void> {
  const now = performance.now();
  const feed = service.app.get(ChangeFeed);
  while (performance.now() - feed.ageMs < now) await delay(5);
}

async function changes(query: string) {
  await told();
  const { body } = await service.get(`/v1/markets/changes?${query}`).expect(200);
  return body;
}

const shown = (market: object) => JSON.parse(JSON.stringify(market));

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
});
