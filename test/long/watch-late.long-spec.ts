import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeed } from '../../src/change-feed/change-feed.js';
import { StreamTimes } from '../../src/markets/watch/stream-times.js';
import { Watch } from '../../src/markets/watch/watch.js';
import { HistoryBackfill } from '../../src/markets/watch/history-backfill.js';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket } from '../factories.js';
import { TestMongod } from '../mongo.js';
import { setFailCommand } from '../mongo-admin.js';
import { inTime, until } from '../until.js';
import { StreamClient } from '../watch-client.js';

let mongod: TestMongod;
let service: TestApp;

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await createTestApp({ mongodbUri: mongod.uri });
  Object.assign(service.app.get(StreamTimes), {
    lateAfterMs: 600,
    tellEveryMs: 500,
    // However slowly a busy machine goes on after a pause.
    endLateAfterMs: 20_000,
  });
});
afterAll(async () => {
  await service.close();
  await mongod.stop();
});

/** Once MongoDB tells of changes again. */
const open = async () => {
  const { url, key } = service;
  const path = '/v1/markets/stream?eventId=a';
  const stream = await StreamClient.keepOpening(url + path, { 'X-API-Key': key });
  await stream.named('current');
  return stream;
};

it('a stream says that it is late, again and again, and when MongoDB is back that it is not', async () => {
  const stream = await open();
  await mongod.kill('SIGSTOP');
  const stoppedAt = performance.now();
  const first = await stream.named('late');
  expect(first.data.ageMs).toBeGreaterThanOrEqual(600);
  expect(first.id).toBeUndefined();
  const told = stream.events.filter(({ event, at }) => event === 'current' && at > stoppedAt);
  for (const { data, at } of told) {
    // What was proven before is all that may be said.
    expect(at - (data.ageMs ?? 0)).toBeLessThan(stoppedAt + 250);
  }
  const second = await stream.event(({ event, at }) => event === 'late' && at > first.at);
  expect(second.data.ageMs).toBeGreaterThan((first.data.ageMs ?? 0) + 400);
  await mongod.kill('SIGCONT');
  const again = await stream.event(({ event, at }) => event === 'current' && at > second.at);
  expect(again.data.ageMs).toBeLessThan(2_000);
  stream.close();
});

it('one that stays late ends, and says why as its last event', async () => {
  service.app.get(StreamTimes).endLateAfterMs = 2_000;
  const stream = await open();
  await mongod.kill('SIGSTOP');
  try {
    expect((await stream.named('end')).data).toEqual({ reason: 'late' });
    await stream.over();
    expect(stream.names.filter((name) => name !== 'current').at(1)).toBe('late');
    expect(stream.names.at(-1)).toBe('end');
  } finally {
    await mongod.kill('SIGCONT');
  }
});

it.each([
  ['a moment', 0, 1],
  ['45 seconds', 45_000, 2],
])(
  'a caller who comes back right after a start, after %s, waits until the past is known, and starts over for nothing',
  async (_time, ms, skip) => {
    const eventId = randomUUID();
    const { db } = service.database;
    await db.collection('markets').insertOne(aMarket({ eventId }) as never);
    const first = await service.get(`/v1/markets/changes?eventId=${eventId}`).expect(200);
    await db.collection('markets').updateOne({ eventId }, { $set: { name: 'new' } });
    await delay(ms);
    // The feed of the new process opens its change stream at once, the reading of this past is slow.
    await setFailCommand(
      mongod,
      { skip },
      { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 700 },
    );
    const restarted = await createTestApp({ mongodbUri: mongod.uri, dbInit: false });
    try {
      const path = `/v1/markets/changes?eventId=${eventId}&since=${first.body.meta.cursor}`;
      const { body } = await restarted.get(path).expect(200);
      expect(body.data).toEqual([
        expect.objectContaining({
          reset: false,
          changed: [expect.objectContaining({ name: 'new' })],
        }),
      ]);
    } finally {
      await setFailCommand(mongod, 'off');
      await restarted.close();
    }
  },
);

it('a caller who comes back right after a start behind a transaction too large to be held starts over for nothing', async () => {
  const eventId = randomUUID();
  const markets = service.database.db.collection('markets');
  await markets.insertOne(aMarket({ eventId }) as never);
  const path = `/v1/markets/changes?eventId=${eventId}`;
  const first = await service.get(path).expect(200);
  const others = Array.from({ length: 10_001 }, () => aMarket());
  await service.database.db.client.withSession((session) =>
    session.withTransaction(async () => {
      await markets.updateOne({ eventId }, { $set: { name: 'new' } }, { session });
      await markets.insertMany(others as never[], { session });
    }),
  );
  const restarted = await createTestApp({ mongodbUri: mongod.uri, dbInit: false });
  try {
    // Before the feed has begun, no past is being read.
    await until(() => restarted.app.get(ChangeFeed).isCurrent);
    // A slow machine needs more than two seconds to read so large a transaction.
    await until(() => !restarted.app.get(HistoryBackfill).isFilling);
    const since = `${path}&since=${first.body.meta.cursor}`;
    const { body } = await inTime(() => restarted.get(since));
    expect(body.data).toEqual([
      expect.objectContaining({
        reset: false,
        changed: [expect.objectContaining({ name: 'new' })],
      }),
    ]);
  } finally {
    await restarted.close();
  }
});

it('a caller whose cursor had to be waited for has its answer in the same two seconds, or is told to try again', async () => {
  const { db } = service.database;
  const writing = setInterval(() => {
    void db.collection('other').insertOne({});
  }, 100);
  await setFailCommand(mongod, 'alwaysOn', {
    failCommands: ['find'],
    namespace: `${db.databaseName}.markets`,
    blockConnection: true,
    blockTimeMS: 2_000,
  });
  try {
    const aheadMs = 250;
    const now = Date.now();
    // Cluster times have whole seconds.
    await delay(1_000 - ((now + aheadMs) % 1_000));
    const position = new Timestamp({ t: Math.floor((Date.now() + aheadMs) / 1_000), i: 0 });
    const since = new Watch(['eventId:late'], {}).cursorAt(position);
    const askedAt = performance.now();
    const { status } = await service.get(`/v1/markets/changes?eventId=late&since=${since}`);
    // By which of the two steps it gave up.
    expect([503, 504]).toContain(status);
    const answeredMs = performance.now() - askedAt;
    expect(answeredMs).toBeGreaterThan(1_000);
    // Wait and read, one after the other, would take 2,050 ms.
    expect(answeredMs).toBeLessThan(2_000);
  } finally {
    clearInterval(writing);
    await setFailCommand(mongod, 'off');
  }
});
