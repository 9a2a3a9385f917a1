import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { StreamHub } from '../../src/markets/watch/stream-hub.js';
import { UnsentAnswers } from '../../src/markets/unsent-answers.js';
import { WatchPreparation } from '../../src/markets/watch/watch-preparation.js';
import { allTold, createTestApp, type TestApp } from '../app.js';
import { collectGarbage } from '../collect-garbage.js';
import { storeEvent } from '../factories.js';
import { testDatabaseUri } from '../mongo.js';
import { monitored } from '../mongo-commands.js';
import { inTime, until } from '../until.js';

const MIB = 1_024 * 1_024;

let service: TestApp;
let narrow: TestApp;
/** An event of 14 MiB. */
let largeEvent: string;

beforeAll(async () => {
  service = await createTestApp({ mongodbUri: monitored(testDatabaseUri()) });
  const { mongodbUri } = service.config;
  narrow = await createTestApp({ mongodbUri, dbInit: false, watchMaxMb: 1, cacheMaxMb: 0 });
  largeEvent = await storeEvent(service.database.connection, 14, MIB);
  for (const each of [service, narrow]) await allTold(each);
});
afterAll(async () => {
  await narrow.close();
  await service.close();
});

function bytesOfBuffers(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

describe('a key that leaves many megabytes unread', () => {
  const unread: IncomingMessage[] = [];
  /** The status of an answer whose body nobody reads. */
  const ask = async (path: string, key = service.key, { url } = service) => {
    const headers = { 'X-API-Key': key };
    const request = get(`${url}${path}`, { headers, agent: false });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    unread.push(answer);
    return answer.statusCode;
  };
  const leave = () => {
    for (const answer of unread.splice(0)) answer.destroy();
  };
  afterEach(leave);

  it.each([
    ['/v1/markets/changes?eventId=$id', () => service],
    ['/v1/markets/market/provider/$id?take=100', () => service],
    // Without a cache.
    ['/v1/markets/market/provider/$id?take=100', () => narrow],
  ])('is refused %s until it has read them or left', async (template, of) => {
    const path = template.replace('$id', largeEvent);
    const { key } = of();
    const other = await service.keys.create({ name: 'other', rateLimit: 0 });
    await inTime(() => of().get(path));

    const statuses = [];
    for (let count = 0; count < 6; count += 1) statuses.push(await ask(path, key, of()));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 503]);
    expect(await ask(path, other.key, of())).toBe(200);

    leave();
    await until(async () => (await of().get(path)).status === 200);
  });

  it('is refused where it asks for the last ones together, and MongoDB answers', async () => {
    const path = `/v1/markets/changes?eventId=${largeEvent}`;
    await inTime(() => service.get(path));
    for (let count = 0; count < 4; count += 1) await ask(path);

    // Only MongoDB knows such an id.
    const together = [1, 2, 3].map(() => ask(`${path}&eventId=%EF%BF%BD`));
    const statuses = await Promise.all(together);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
    expect([200, 503, 504]).toEqual(expect.arrayContaining(statuses));
  });

  it('is not refused for answers that it has left before they were made', async () => {
    const path = `/v1/markets/changes?eventId=${largeEvent}`;
    const { key } = await service.keys.create({ name: 'hasty', rateLimit: 0 });
    await inTime(() => service.get(path));
    const preparing = jest.spyOn(service.app.get(WatchPreparation), 'prepare');
    for (let count = 0; count < 6; count += 1) {
      const leaving = new AbortController();
      const gone = once(service.app.getHttpServer(), 'request').then(([, response]) =>
        once(response, 'close'),
      );
      preparing.mockImplementationOnce(async () => {
        leaving.abort();
        await gone;
        return undefined;
      });
      const { signal } = leaving;
      const left = fetch(service.url + path, { headers: { 'X-API-Key': key }, signal });
      await expect(left).rejects.toThrow('abort');
      await gone;
    }
    preparing.mockRestore();
    await until(async () => (await ask(path, key)) === 200, 10_000);
  });

  it('is refused another stream', async () => {
    const path = `/v1/markets/stream?eventId=${largeEvent}`;
    const other = await service.keys.create({ name: 'other', rateLimit: 0 });
    // While the feed is late on a busy machine, streams are refused as well.
    const opens = (key?: string) => until(async () => (await ask(path, key)) === 200);
    const isOverloaded = async () => {
      if ((await ask(path)) !== 503) return false;
      const [refusal] = unread.splice(-1);
      return refusal !== undefined && (await text(refusal)).includes('"overloaded"');
    };
    for (let count = 0; count < 5; count += 1) await opens();

    await until(isOverloaded);
    await opens(other.key);
    leave();
    await opens();
  });

  it('leaves one snapshot unread, however many streams it has of the same', async () => {
    const query = `eventId=${largeEvent}`;
    // It is in memory from here on.
    await inTime(() => service.get(`/v1/markets/changes?${query}`));
    const before = bytesOfBuffers();
    // While the feed is late on a busy machine, streams are refused.
    for (let count = 0; count < 4; count += 1)
      await until(async () => (await ask(`/v1/markets/stream?${query}`)) === 200);
    expect(bytesOfBuffers() - before).toBeLessThan(14 * MIB);
    leave();
    const { unsentEvents } = service.app.get(StreamHub);
    await until(() => unsentEvents['large'].size === 0);
  });
});

describe('many keys that leave many megabytes unread', () => {
  const unread: IncomingMessage[] = [];
  let path: string;
  let keys: readonly string[];

  beforeAll(async () => {
    path = `/v1/markets/changes?eventId=${largeEvent}`;
    const made = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      service.keys.create({ name, rateLimit: 0 }),
    );
    keys = (await Promise.all(made)).map(({ key }) => key);
    await inTime(() => service.get(path));
  });
  afterEach(async () => {
    for (const answer of unread.splice(0)) answer.destroy();
    const unsent = service.app.get(UnsentAnswers);
    // Nothing of them stays, and each is counted as gone once: below nothing there would be room for too much.
    await until(() => unsent['total'] === 0 && unsent['holders'].size === 0);
  });

  /** How many answers each key gets, of four that it asks for. */
  const served = async (queryOf: (answer: number) => string) => {
    const found = [];
    for (const key of keys) {
      let answered = 0;
      for (let count = 0; count < 4; count += 1) {
        const headers = { 'X-API-Key': key };
        const url = `${service.url}${path}${queryOf(unread.length)}`;
        const [answer] = await once(get(url, { headers, agent: false }), 'response');
        unread.push(answer);
        if (answer.statusCode === 200) answered += 1;
      }
      found.push(answered);
    }
    return found;
  };

  it('are refused more together than one, but none its first', async () => {
    const before = bytesOfBuffers();
    const answers = await served((answer) => `&provider=Northbook&provider=${answer}`);
    expect(bytesOfBuffers() - before).toBeLessThan((128 + 4 * 14) * MIB);
    expect(answers.every((count) => count > 0)).toBe(true);
  });

  it('are not refused what takes memory once', async () => {
    expect(await served(() => '')).toEqual([4, 4, 4, 4, 4]);
  });
});
