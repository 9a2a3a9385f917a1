import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Decimal128, Timestamp, type Collection } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { FeedProgress } from '../src/change-feed/feed-progress.js';
import { HTTP_LIMITS } from '../src/http/http-limits.js';
import { LiveScopes } from '../src/markets/cache/live-scopes.js';
import { compressors } from '../src/markets/compression.js';
import { readCursor, writeCursor } from '../src/markets/watch/cursor.js';
import { HistoryBackfill } from '../src/markets/watch/history-backfill.js';
import { StreamHub } from '../src/markets/watch/stream-hub.js';
import { StreamTimes } from '../src/markets/watch/stream-times.js';
import { WatchedScopes } from '../src/markets/watch/watched-scopes.js';
import { Watch } from '../src/markets/watch/watch.js';
import { allTold, createTestApp, type TestApp } from './app.js';
import { aMarket, store, storeEvent } from './factories.js';
import { testDatabaseUri } from './mongo.js';
import { commandsDuring, monitored, readsDuring } from './mongo-commands.js';
import { openSockets, sendTogether } from './raw-http.js';
import { inTime, until } from './until.js';
import { StreamClient } from './watch-client.js';

const KIB = 1_024;
const MIB = KIB * KIB;

let service: TestApp;
let narrow: TestApp;
let times: StreamTimes;
const streams: StreamClient[] = [];

beforeAll(async () => {
  service = await createTestApp({ mongodbUri: monitored(testDatabaseUri()) });
  const { mongodbUri } = service.config;
  narrow = await createTestApp({ mongodbUri, dbInit: false, watchMaxMb: 1, cacheMaxMb: 0 });
  times = service.app.get(StreamTimes);
});
afterAll(async () => {
  await narrow.close();
  await service.close();
});
afterEach(() => {
  Object.assign(times, new StreamTimes());
  for (const stream of streams.splice(0)) stream.close();
});

const markets = (): Collection => service.database.db.collection('markets');

async function open(query: string, { url, key } = service): Promise<StreamClient> {
  const headers = { 'X-API-Key': key };
  for (;;) {
    await told();
    const stream = await StreamClient.open(`${url}/v1/markets/stream?${query}`, headers);
    streams.push(stream);
    // While the feed is late on a busy machine, a stream is refused.
    if (stream.response.statusCode !== 503) return stream;
  }
}

/** An event with so many markets, and so many bytes in each, of which both services know. */
async function anEvent(count: number, bytes?: number): Promise<string> {
  const eventId = await storeEvent(service.database.connection, count, bytes);
  await told();
  return eventId;
}

/** Resolves when both services know all that is written by now. */
async function told(): Promise<void> {
  for (const each of [service, narrow]) await allTold(each);
}

/** Its id has no place in the order that memory keeps. */
const odd = (eventId: string) => ({
  ...aMarket({ eventId }),
  _id: Decimal128.fromString(String(Math.random())),
});

async function changesIn(encoding: string, query: string) {
  const headers = { 'X-API-Key': service.key, 'Accept-Encoding': encoding };
  const ask = () => fetch(`${service.url}/v1/markets/changes?${query}`, { headers });
  const answer = await inTime(ask);
  const { data } = (await answer.json()) as { data: unknown };
  const length = answer.headers.get('content-length');
  return { data, length, encoding: answer.headers.get('content-encoding') ?? 'identity' };
}

/** How long requests take that are sent together. Milliseconds. */
async function timed(requests: readonly string[]): Promise<number> {
  const askedAt = performance.now();
  await sendTogether(service.app.getHttpServer(), requests);
  return performance.now() - askedAt;
}

/** Which id a group is of, and how many markets it tells. */
const sizeOf = ({ eventId, changed }: { eventId: string; changed: unknown[] }) => [
  eventId,
  changed.length,
];

/** What streams that are asked for together are answered. */
async function streamStatuses(queries: readonly string[]): Promise<string[]> {
  const sockets = await openSockets(service.app.getHttpServer(), queries.length);
  queries.forEach((query, index) =>
    sockets[index]?.write(requestFor(`/v1/markets/stream?${query}`)),
  );
  const heads = await Promise.all(sockets.map((socket) => once(socket, 'data')));
  for (const socket of sockets) socket.destroy();
  return heads.map(([head]) => String(head).split(' ')[1] ?? '');
}

/** A request as it goes over the wire. */
const requestFor = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.key}\r\n\r\n`;

const cursorAt = (eventId: string, secondsAhead: number) =>
  writeCursor({
    position: new Timestamp({ t: Math.floor(Date.now() / 1_000) + secondsAhead, i: 0 }),
    watchHash: new Watch([`eventId:${eventId}`], {}, `${service.database.connection.name}.markets`)
      .hash,
  });

describe('an answer of megabytes', () => {
  it.each(['gzip', 'br', 'identity'])(
    'is whole in %s, and compressed as it is sent',
    async (encoding) => {
      const query = `eventId=${await anEvent(3, MIB)}`;
      const plain = await changesIn('identity', query);
      const coded = await changesIn(encoding, query);
      expect(coded.data).toEqual(plain.data);
      expect(coded.encoding).toBe(encoding);
      // Its length is not known before its end.
      expect(coded.length === null).toBe(encoding !== 'identity');
    },
  );

  it('is not compressed for who asks for its head alone', async () => {
    const compressing = jest.spyOn(compressors.gzip, 'pieceByPiece');
    const url = `${service.url}/v1/markets/changes?eventId=${await anEvent(3, MIB)}`;
    const headers = { 'X-API-Key': service.key, 'Accept-Encoding': 'gzip' };
    const answer = await inTime(() => fetch(url, { method: 'HEAD', headers }));
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(compressing).not.toHaveBeenCalled();
    compressing.mockRestore();
  });
});

it('many events are loaded ten at a time, by replies that hold up nobody for long', async () => {
  const ids = await Promise.all(Array.from({ length: 11 }, () => anEvent(210)));
  const path = `/v1/markets/changes?${ids.map((id) => `eventId=${id}`).join('&')}`;
  // While the feed is late on a busy machine, MongoDB answers with all of them at once.
  const current = jest.spyOn(ChangeFeed.prototype, 'isCurrent', 'get').mockReturnValue(true);
  const commands = await commandsDuring(service.database.connection, () =>
    inTime(() => service.get(path)),
  );
  current.mockRestore();
  const loads = commands.map(({ command }) => command).filter(({ filter }) => filter?.$or);
  expect(loads.map(({ filter }) => filter.$or.length)).toEqual(expect.arrayContaining([10, 1]));
  expect(Math.max(...loads.map(({ filter }) => filter.$or.length))).toBe(10);
  expect(Math.max(...loads.map(({ batchSize }) => batchSize))).toBe(501);
  expect(commands.map(({ command }) => command)).toContainEqual(
    expect.objectContaining({ collection: 'markets', batchSize: 1_000 }),
  );
});

describe('a stream', () => {
  it('is never silent for long: `current` comes again, each with id and age', async () => {
    const { tellEveryMs, tickMs, lateAfterMs, endLateAfterMs } = times;
    // Beside the wait for a tick, a busy process has some time.
    expect(tellEveryMs + tickMs).toBeLessThanOrEqual(4_250);
    expect([lateAfterMs, endLateAfterMs]).toEqual([2_000, 15_000]);
    times.tellEveryMs = 100;
    const stream = await open(`eventId=${randomUUID()}`);
    await until(() => stream.events.length >= 4);
    const beats = stream.events.slice(1);
    expect(beats).toEqual(
      beats.map(() =>
        expect.objectContaining({
          event: 'current',
          id: expect.stringMatching(/^[\w-]{28}$/),
          data: { ageMs: expect.any(Number) },
        }),
      ),
    );
  });

  it('tells how old its data may be on a busy market, too', async () => {
    times.tellEveryMs = 300;
    const eventId = randomUUID();
    const { connection } = service.database;
    await store(connection, aMarket({ eventId }));
    const stream = await open(`eventId=${eventId}`);
    let version = 0;
    await until(async () => {
      await connection
        .collection('markets')
        .updateOne({ eventId }, { $set: { name: `${(version += 1)}` } });
      return stream.events.filter(({ event }) => event === 'current').length >= 4;
    }, 5_000);
    expect(version).toBeGreaterThan(4);
  });

  it('goes on while the change feed fails for a moment', async () => {
    times.tellEveryMs = 1;
    const stream = await open(`eventId=${randomUUID()}`);
    await stream.named('current');
    const failing = jest.spyOn(FeedProgress.prototype, 'reached').mockImplementation(() => {
      throw new Error('It is to fail for a moment.');
    });
    try {
      await until(() => service.app.get(ChangeFeed).ageMs === Infinity);
      const before = stream.events.length;
      await until(() => stream.events.length >= before + 3 || stream.isOver);
    } finally {
      failing.mockRestore();
    }
    expect(stream.names).not.toContain('end');
  });

  it('ends when its time is over, no two at once', async () => {
    expect([times.lifetimeMs, times.lifetimeSpread]).toEqual([3_600_000, 0.1]);
    times.lifetimeMs = 700;
    times.lifetimeSpread = 0.5;
    const all = await Promise.all(Array.from({ length: 8 }, () => open(`eventId=a`)));
    const ends = await Promise.all(all.map((stream) => stream.named('end')));
    expect(ends.map(({ data }) => data)).toEqual(ends.map(() => ({ reason: 'age' })));
    const at = ends.map((end) => end.at);
    expect(Math.max(...at) - Math.min(...at)).toBeGreaterThan(100);
    for (const stream of all) await stream.over();
  });

  it('takes up again each time that its reader has caught up', async () => {
    const eventId = await anEvent(1, 300 * KIB);
    const stream = await open(`eventId=${eventId}`);
    await stream.named('current');
    for (let version = 2; version < 6; version += 1) {
      await markets().updateOne({ eventId }, { $set: { marketId: `${version}` } });
      await stream.event(({ data }) => data.data?.[0]?.changed[0]?.marketId === `${version}`);
    }
    expect(stream.isOver).toBe(false);
  });

  it('goes on as soon as its socket has room, and not when it is looked at the next time', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => anEvent(1, 100 * KIB)));
    const hub = service.app.get<StreamHub, { tick(): void }>(StreamHub);
    const looks = jest.spyOn(hub, 'tick').mockReturnValue();
    // Each id fills the socket.
    const query = ids.map((id) => `eventId=${id}`).join('&');
    const stream = await open(`${query}&conflateMs=500`);
    expect((await stream.named('current')).event).toBe('current');
    // The second is held back for a while.
    for (const marketId of ['one', 'two']) {
      await markets().updateOne({ eventId: ids[0] }, { $set: { marketId } });
      await stream.event(({ data }) => data.data?.[0]?.changed[0]?.marketId === marketId);
    }
    looks.mockRestore();
  });

  it('gives neither cursor nor age that stands for what is held back for conflation', async () => {
    times.tellEveryMs = 1;
    const eventId = await anEvent(1);
    const stream = await open(`eventId=${eventId}&conflateMs=10000`);
    await stream.named('current');
    for (const name of ['told', 'held back']) {
      await markets().updateOne({ eventId }, { $set: { name } });
      await told();
    }
    const before = stream.events.length;
    // As long as a change is held back, the age grows.
    const ages = () => stream.events.slice(before).map(({ data }) => data.ageMs ?? 0);
    await until(() => Math.max(...ages()) > 500);
    const { body } = await service
      .get(`/v1/markets/changes?eventId=${eventId}&since=${stream.lastId}`)
      .expect(200);
    expect(body.data).toEqual([
      expect.objectContaining({ changed: [expect.objectContaining({ name: 'held back' })] }),
    ]);
  });
});

describe('what is too much', () => {
  it('is what look-ups left in what is watched: it makes room for itself', async () => {
    const eventId = await anEvent(20, 40 * KIB);
    const stream = await open(`eventId=${eventId}`, narrow);
    await stream.named('current');
    for (let take = 1; take <= 20; take += 1)
      await narrow.get(`/v1/markets/market/provider/${eventId}?take=${take}`).expect(200);
    const [watched, live] = [narrow.app.get(WatchedScopes), narrow.app.get(LiveScopes)];
    const bytes = () => live.get(`eventId:${eventId}`)?.bytes ?? NaN;
    await until(() => Math.max(watched.bytes, bytes()) <= MIB);
    expect(stream.isOver).toBe(false);
  });

  it('is what WATCH_MAX_MB has no room for; who only asked makes room for others', async () => {
    const [one, two, large] = [
      await anEvent(1, 600 * KIB),
      await anEvent(1, 600 * KIB),
      await anEvent(2, 600 * KIB),
    ];
    const ask = (id: string) => narrow.get(`/v1/markets/changes?eventId=${id}`);
    await ask(one).expect(200);
    await ask(two).expect(200);
    for (const path of ['changes', 'stream']) {
      const answer = await narrow.get(`/v1/markets/${path}?eventId=${large}`).expect(503);
      expect(answer.body.code).toBe('overloaded');
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    }
    const stream = await open(`eventId=${one}`, narrow);
    await stream.named('current');
    await ask(two).expect(503);
    await ask(one).expect(200);
    await markets().updateOne({ eventId: one }, { $set: { name: 'y'.repeat(1_200 * KIB) } });
    expect((await stream.named('end')).data).toEqual({ reason: 'size' });
    await stream.over();
    await ask(two).expect(200);
  });

  it('is what the streams of one key take above half of WATCH_MAX_MB, so that others have room', async () => {
    const [one, two] = [await anEvent(1, 600 * KIB), await anEvent(1, 100 * KIB)];
    // The first may take more, and a further one of the same takes nothing.
    for (const id of [one, one]) {
      const stream = await open(`eventId=${id}`, narrow);
      await stream.named('current');
    }
    const { body } = await narrow.get(`/v1/markets/stream?eventId=${two}`).expect(503);
    expect(body.code).toBe('overloaded');
    const { key } = await narrow.keys.create({ name: 'other' });
    const stream = await open(`eventId=${two}`, { ...narrow, key });
    await stream.named('current');
  });

  it('is a stream whose room others have taken while it was prepared', async () => {
    const [one, two] = [await anEvent(1, 600 * KIB), await anEvent(1, 600 * KIB)];
    const ask = (path: string) => narrow.get(`/v1/markets/${path}`);
    const preparing = jest.spyOn(narrow.app.get(HistoryBackfill), 'waitUntilKnown');
    preparing.mockImplementationOnce(async () => {
      await ask(`changes?eventId=${two}`).expect(200);
    });
    const { body } = await ask(`stream?eventId=${one}`).expect(503);
    expect(body.code).toBe('overloaded');
    preparing.mockRestore();
  });

  it('who was asked for the longest time ago makes room, and is kept nowhere else', async () => {
    const live = narrow.app.get(LiveScopes);
    const isThere = (eventId: string) => live.get(`eventId:${eventId}`) !== undefined;
    const bytes = 400 * KIB;
    const [one, two, three] = [
      await anEvent(1, bytes),
      await anEvent(1, bytes),
      await anEvent(1, bytes),
    ];
    for (const eventId of [one, two, one, three]) {
      // While the feed is late on a busy machine, MongoDB is asked.
      await until(async () => {
        await narrow.get(`/v1/markets/changes?eventId=${eventId}`).expect(200);
        return isThere(eventId);
      });
    }
    expect([one, two, three].map(isThere)).toEqual([true, false, true]);
  });
});

describe('a cursor ahead of the replica, of other ids too,', () => {
  it('waits for it, and if it does not come is told to try again', async () => {
    const [eventId, other] = [await anEvent(1), randomUUID()];
    const target = (path: string, of: string, secondsAhead: number) =>
      `/v1/markets/${path}?eventId=${eventId}&since=${cursorAt(of, secondsAhead)}`;
    const refused = Promise.all([
      service.get(target('changes', eventId, 1_000)),
      service.get(target('changes', other, 1_000)),
      service.get(target('stream', eventId, 1_000)),
    ]);
    const writing = setInterval(() => {
      void markets().updateOne({ eventId }, { $inc: { serial: 1 } });
    }, 100);
    try {
      let asked: Timestamp | undefined;
      let answers: Awaited<ReturnType<typeof service.get>>[] = [];
      // On a busy machine the next write may come too late once.
      await until(async () => {
        // Cursors have whole seconds, and one that is too far ahead is not waited for.
        await until(() => Date.now() % 1_000 > 750);
        asked = readCursor(cursorAt(other, 1))?.position;
        answers = await Promise.all(
          [eventId, other].map((of) => service.get(target('changes', of, 1))),
        );
        return answers.every(({ status }) => status === 200);
      }, 5_000);
      for (const { body } of answers) {
        const given = readCursor(body.meta.cursor)?.position;
        expect(given?.greaterThanOrEqual(asked ?? given)).toBe(true);
      }
      expect(answers[1]?.body.data).toEqual([expect.objectContaining({ eventId, reset: true })]);
    } finally {
      clearInterval(writing);
    }
    for (const answer of await refused) {
      expect([answer.status, answer.body.code]).toEqual([503, 'database_unavailable']);
    }
  });

  it('takes few of the places in flight, however many requests bring one', async () => {
    const eventId = await anEvent(1);
    const path = `/v1/markets/changes?eventId=${eventId}&since=${cursorAt(eventId, 1_000)}`;
    const ahead = Array<string>(2 * HTTP_LIMITS.inFlight).fill(requestFor(path));
    const lookUp = requestFor(`/v1/markets/market/provider/${eventId}`);
    // On a busy machine anything may take long once.
    await until(async () => {
      const waiting = timed(ahead);
      await once(service.app.getHttpServer(), 'request');
      return (await timed([lookUp])) < (await waiting) / 2;
    });
    // None of them takes a place any more: the next one is waited for, and not refused at once.
    const askedAt = performance.now();
    const { body } = await inTime(() => service.get(path));
    expect(performance.now() - askedAt).toBeGreaterThan(400);
    expect(body.code).toBe('database_unavailable');
  });
});

describe('many who ask at once for what is not in memory', () => {
  it('have each id read once, in whatever watches it is', async () => {
    // While the feed is late on a busy machine, nothing is kept.
    await until(async () => {
      const [shared, ...own] = [await anEvent(3), await anEvent(2), await anEvent(1)];
      const watched = Array.from({ length: 4 }, () => own).flat();
      const requests = watched.map((id) =>
        requestFor(`/v1/markets/changes?eventId=${id}&eventId=${shared}`),
      );
      const reads = await readsDuring(service.database.connection, async () => {
        const answers = await sendTogether(service.app.getHttpServer(), requests);
        const groups = answers.map(({ body }) => JSON.parse(body).data.map(sizeOf));
        const wanted = watched.map((id) => [
          [id, id === own[0] ? 2 : 1],
          [shared, 3],
        ]);
        expect(groups).toEqual(wanted);
      });
      const commands = JSON.stringify(reads);
      return [shared, ...own].every((id) => commands.split(id).length === 2);
    });
  });

  it('are not refused for what others ask besides', async () => {
    await until(async () => {
      const [good, ...bad] = [await anEvent(1), await anEvent(1), await anEvent(1)];
      await markets().insertMany(bad.map((id) => odd(id) as never));
      await told();
      const statuses = await streamStatuses([
        [bad[0], good, bad[1]].map((id) => `eventId=${id}`).join('&'),
        `eventId=${good}`,
      ]);
      expect(statuses[0]).toBe('503');
      return statuses[1] === '200';
    });
  });
});

describe('an event with an id that has no place in memory', () => {
  it('is told whole each time by changes, and refused by stream', async () => {
    const eventId = await anEvent(1);
    const market = odd(eventId);
    await markets().insertOne(market as never);
    let since = '';
    for (let count = 0; count < 2; count += 1) {
      const { body } = await service
        .get(`/v1/markets/changes?eventId=${eventId}${since}`)
        .expect(200);
      expect(body.data).toEqual([expect.objectContaining({ eventId, reset: true, removed: [] })]);
      expect(body.data[0].changed.map(({ _id }: { _id: string }) => _id)).toContain(
        String(market._id),
      );
      since = `&since=${body.meta.cursor}`;
    }
    const { body } = await service.get(`/v1/markets/stream?eventId=${eventId}`).expect(503);
    expect(body.code).toBe('changes_unavailable');
  });

  it('makes a running stream late, and ends it: it never keeps silent of what it can not tell', async () => {
    Object.assign(times, { lateAfterMs: 200, tellEveryMs: 200, endLateAfterMs: 2_500 });
    const reads: number[] = [];
    service.database.connection.getClient().on('commandStarted', ({ command }) => {
      if (command['find'] === 'markets') reads.push(performance.now());
    });
    const eventId = await anEvent(1);
    const stream = await open(`eventId=${eventId}`);
    await stream.named('current');
    reads.length = 0;
    await markets().insertOne(odd(eventId) as never);
    await stream.named('late');
    expect((await stream.named('end')).data).toEqual({ reason: 'late' });
    // Less and less often it is tried to load it.
    const [first, , third] = reads;
    expect((third ?? 0) - (first ?? 0)).toBeGreaterThan(950);
  });
});

it('what is watched, and lost with its collection, takes no memory', async () => {
  const other = await createTestApp();
  try {
    const eventId = randomUUID();
    const collection = other.database.connection.collection('markets');
    await collection.insertOne(aMarket({ eventId }) as never);
    const watched = other.app.get(WatchedScopes);
    // While the feed is late on a busy machine, nothing is kept.
    await until(async () => {
      await other.get(`/v1/markets/changes?eventId=${eventId}`).expect(200);
      return watched.bytes > 0;
    });
    await collection.drop();
    await until(() => watched.bytes === 0);
  } finally {
    await other.close();
  }
});
