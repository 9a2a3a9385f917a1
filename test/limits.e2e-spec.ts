import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey, keyIdOf, withChecksum } from '../src/api-keys/key-form.js';
import { KeyRecords } from '../src/api-keys/key-records.js';
import { RequestCounter } from '../src/api-keys/request-counter.js';
import { RequestLimit } from '../src/api-keys/request-limit.js';
import type { Problem } from '../src/http/problem.js';
import { createTestApp, type TestApp } from './app.js';
import { commandsDuring, monitored } from './mongo-commands.js';
import { testDatabaseUri } from './mongo.js';
import { createTestRedis, hasRedis, type TestRedis } from './redis.js';
import { inTime, until } from './until.js';

const FIXTURE = '/v1/markets/market/fixture/nobody';
const PROVIDER = '/v1/markets/market/provider/nobody';
const HOUR_MS = 3_600_000;

let service: TestApp;

beforeAll(async () => {
  const mongodbUri = monitored(testDatabaseUri());
  service = await createTestApp({ mongodbUri, authFailuresPerMinute: 0 });
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await service.close();
});

async function newKey(rateLimit?: number, { keys } = service): Promise<string> {
  const { key } = await keys.create({ name: 'test', rateLimit });
  return key;
}

/** The path of `/changes` for so many ids. */
function changesOf(count: number): string {
  const ids = Array.from({ length: count }, (_, index) => `eventId=event-${index}`);
  return `/v1/markets/changes?${ids.join('&')}`;
}

interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask(key: string, path = FIXTURE, options: AskOptions = {}, { url } = service) {
  return fetch(url + path, { ...options, headers: { 'X-API-Key': key, ...options.headers } });
}

/** Status and the headers about limits. */
async function limitOf(answer: Promise<Response> | Response) {
  const { status, headers } = await answer;
  return {
    status,
    policy: headers.get('RateLimit-Policy'),
    limit: headers.get('RateLimit'),
    retryAfter: headers.get('Retry-After'),
  };
}

const monotonicNow = performance.now.bind(performance);

/** Sets the monotonic clock ahead of its true time. */
function setAhead(ms: number): void {
  jest.spyOn(performance, 'now').mockImplementation(() => monotonicNow() + ms);
}

describe('the limit of a key', () => {
  it('is told with every answer that counts', async () => {
    const key = await newKey();
    const first = await ask(key);
    const etag = first.headers.get('ETag') ?? '';
    const policy = '"default";q=600;w=60';
    expect(await limitOf(first)).toEqual({
      status: 200,
      policy,
      limit: '"default";r=599;t=60',
      retryAfter: null,
    });
    expect(await limitOf(ask(key, FIXTURE, { headers: { 'If-None-Match': etag } }))).toMatchObject({
      status: 304,
      policy,
      limit: expect.stringContaining('r=598;'),
    });
    expect(await limitOf(ask(key, `${FIXTURE}?take=101`))).toMatchObject({
      status: 400,
      policy,
      limit: expect.stringContaining('r=597;'),
    });
    expect(await limitOf(ask(key, FIXTURE, { method: 'HEAD' }))).toMatchObject({
      status: 200,
      policy,
      limit: expect.stringContaining('r=596;'),
    });
  });

  it('is not touched or told by 401, 404 and 405', async () => {
    const key = await newKey(10);
    await ask(key);
    const none = { policy: null, limit: null, retryAfter: null };
    expect(await limitOf(fetch(service.url + FIXTURE))).toEqual({ status: 401, ...none });
    expect(await limitOf(ask(key, '/v1/nothing'))).toEqual({ status: 404, ...none });
    expect(await limitOf(ask(key, FIXTURE, { method: 'POST' }))).toEqual({ status: 405, ...none });
    expect(await limitOf(ask(key))).toMatchObject({ limit: expect.stringContaining('r=8;') });
  });

  it('holds over both routes, for each key by itself', async () => {
    const key = await newKey(3);
    for (const path of [FIXTURE, PROVIDER, FIXTURE])
      expect((await ask(key, path)).status).toBe(200);
    const refused = await ask(key, PROVIDER);
    expect(await limitOf(refused)).toEqual({
      status: 429,
      policy: '"default";q=3;w=60',
      limit: '"default";r=0;t=60',
      retryAfter: '60',
    });
    expect(await refused.json()).toMatchObject({ code: 'rate_limited', status: 429 });
    expect((await ask(await newKey(3))).status).toBe(200);
  });

  it('refuses before it looks at the input, and asks MongoDB nothing', async () => {
    const key = await newKey(1);
    await ask(key);
    const commands = await sentDuring(async () => {
      expect((await ask(key, `${FIXTURE}?take=101`)).status).toBe(429);
    });
    expect(commands).toEqual([]);
  });

  it('0 is none', async () => {
    expect(await limitOf(ask(await newKey(0)))).toEqual({
      status: 200,
      policy: null,
      limit: null,
      retryAfter: null,
    });
  });

  it('of the server holds for keys without their own, 0 is none', async () => {
    const { mongodbUri } = service.config;
    const small = await createTestApp({ mongodbUri, rateLimitPerMinute: 2 });
    const unlimited = await createTestApp({ mongodbUri, rateLimitPerMinute: 0 });
    try {
      const key = await newKey();
      expect((await limitOf(ask(key, FIXTURE, {}, small))).policy).toBe('"default";q=2;w=60');
      expect((await limitOf(ask(key, FIXTURE, {}, unlimited))).policy).toBeNull();
      const own = await newKey(9);
      expect((await limitOf(ask(own, FIXTURE, {}, unlimited))).policy).toBe('"default";q=9;w=60');
    } finally {
      await Promise.all([small.close(), unlimited.close()]);
    }
  });

  it('lets a request pass after the time that Retry-After tells, and none before', async () => {
    const key = await newKey(1);
    await ask(key);
    const { retryAfter } = await limitOf(ask(key));
    setAhead(Number(retryAfter) * 1_000 - 2_000);
    expect((await limitOf(ask(key))).status).toBe(429);
    setAhead(Number(retryAfter) * 1_000);
    expect((await limitOf(ask(key))).status).toBe(200);
  });

  it.each([
    ['forward', HOUR_MS],
    ['back', -HOUR_MS],
  ])('does not heed a wall clock that jumps %s', async (_direction, jump) => {
    const key = await newKey(2);
    await ask(key);
    const wallClock = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => wallClock() + jump);
    expect(await limitOf(ask(key))).toMatchObject({ status: 200, limit: '"default";r=0;t=60' });
    expect(await limitOf(ask(key))).toMatchObject({ status: 429, retryAfter: '60' });
    setAhead(60_001);
    expect((await ask(key)).status).toBe(200);
  });
});

/** A request of some cost: its status and limit as the headers tell them. */
async function askFor(cost: number, key: string, rateLimit: number, { app } = service) {
  const request = { apiKey: { id: keyIdOf(key) ?? '', name: '', rateLimit }, answerHeaders: {} };
  const limit = app.get(RequestLimit);
  try {
    await limit.consume(request, cost);
    return { status: 200, ...request.answerHeaders };
  } catch (error) {
    const problem = error as Problem;
    return { status: problem.getStatus(), ...problem.headers };
  }
}

describe('a request that costs more than one', () => {
  it('takes it at once', async () => {
    const key = await newKey(10);
    expect(await askFor(4, key, 10)).toMatchObject({
      status: 200,
      RateLimit: '"default";r=6;t=60',
    });
    expect((await limitOf(ask(key))).limit).toBe('"default";r=5;t=60');
    expect(await askFor(5, key, 10)).toMatchObject({
      status: 200,
      RateLimit: '"default";r=0;t=60',
    });
    expect((await limitOf(ask(key))).status).toBe(429);
  });

  it('takes nothing where less is left, and says when more is', async () => {
    const key = await newKey(10);
    await askFor(7, key, 10);
    expect(await askFor(4, key, 10)).toEqual({
      status: 429,
      'RateLimit-Policy': '"default";q=10;w=60',
      RateLimit: '"default";r=3;t=60',
      'Retry-After': '60',
    });
    expect((await limitOf(ask(key))).limit).toBe('"default";r=2;t=60');
  });

  it('takes nothing where less is left, though it costs just the whole limit', async () => {
    const key = await newKey(2);
    await ask(key);
    expect(await limitOf(ask(key, changesOf(20)))).toMatchObject({
      status: 429,
      limit: '"default";r=1;t=60',
    });
  });

  it('tells its limit once where it is refused', async () => {
    const key = await newKey(3);
    expect((await ask(key, changesOf(20))).status).toBe(200);
    expect(await limitOf(ask(key, changesOf(20)))).toEqual({
      status: 429,
      policy: '"default";q=3;w=60',
      limit: '"default";r=1;t=60',
      retryAfter: '60',
    });
  });

  it.each([
    ['/changes', `${changesOf(20)}&conflateMs=1`],
    ['/stream', changesOf(20).replace('changes', 'stream') + '&since=never'],
  ])('counts as one where %s refuses it for its form', async (_route, path) => {
    expect(await limitOf(ask(await newKey(3), path))).toMatchObject({
      status: 400,
      limit: '"default";r=2;t=60',
    });
  });

  it('takes as much for a stream, whatever it is asked for besides', async () => {
    const path = `${changesOf(20).replace('changes', 'stream')}&conflateMs=1`;
    const answer = await ask(await newKey(3), path);
    await answer.body?.cancel();
    expect((await limitOf(answer)).limit).toBe('"default";r=1;t=60');
  });

  it('takes all that is left from a key whose whole limit is below it', async () => {
    const key = await newKey(3);
    await ask(key);
    expect(await askFor(5, key, 3)).toMatchObject({ status: 200, RateLimit: '"default";r=0;t=60' });
    expect((await askFor(5, key, 3)).status).toBe(429);
  });

  it('is free without a limit', async () => {
    expect(await askFor(50, await newKey(0), 0)).toEqual({ status: 200 });
  });

  it('is never granted twice to two at once', async () => {
    const key = await newKey(10);
    const many = await Promise.all(Array.from({ length: 5 }, () => askFor(4, key, 10)));
    expect(many.filter(({ status }) => status === 200)).toHaveLength(2);
  });
});

describe('refused keys from one address', () => {
  // A sixtieth of it, rounded up, is 2.
  const limit = 61;

  let strict: TestApp;
  let cases = 0;

  beforeAll(async () => {
    const { mongodbUri } = service.config;
    strict = await createTestApp({ mongodbUri, authFailuresPerMinute: limit, trustProxy: 1 });
  });

  // Each case is a client of its own, and leaves no read in the background to the next.
  beforeEach(() => {
    cases += 1;
  });

  afterEach(async () => {
    const records = strict.app.get(KeyRecords);
    await until(() => records['toRead'].size + records['reads'].size === 0);
  });

  afterAll(async () => {
    await strict.close();
  });

  const client = () => ({ 'X-Forwarded-For': `192.0.2.${cases}` });
  const askStrict = (key: string) => ask(key, FIXTURE, { headers: client() }, strict);

  async function useUp(): Promise<void> {
    for (let i = 0; i < limit; i += 1) {
      const key = generateKey();
      const { status } = await inTime(async () => {
        const answer = await askStrict(key);
        return { status: answer.status, body: await answer.json() };
      });
      expect(status).toBe(401);
    }
  }

  it('are limited, without a word to MongoDB', async () => {
    await useUp();
    const commands = await sentDuring(async () => {
      const refused = await askStrict(generateKey());
      expect(await limitOf(refused)).toEqual({
        status: 429,
        policy: '"failed-keys";q=61;w=60',
        limit: '"failed-keys";r=0;t=1',
        retryAfter: '1',
      });
      expect(await refused.json()).toMatchObject({ code: 'rate_limited' });
      expect((await askStrict('nonsense')).status).toBe(429);
    }, strict);
    expect(commands).toEqual([]);
    const { text } = await strict.getOpen('/metrics').expect(200);
    expect(text).toContain('rate_limited_requests_total{limit="address"} 2\n');
  });

  it('are counted as those of an address, though some have ended whose callers are known', async () => {
    const ended = await newKey(0);
    await strict.keys.revoke(keyIdOf(ended) ?? '');
    await useUp();
    const refused = async (by: string) => {
      const { text } = await strict.getOpen('/metrics').expect(200);
      return Number(text.match(`rate_limited_requests_total{limit="${by}"} (\\d+)`)?.[1]);
    };
    const [ofKeys, ofAddresses] = [await refused('key'), await refused('address')];
    // Once its record has been read in the background.
    for (let count = 0; count < 4; count += 1) {
      expect((await askStrict(ended)).status).toBe(429);
      await delay(300);
    }
    await until(async () => (await refused('address')) === ofAddresses + 4);
    expect(await refused('key')).toBe(ofKeys);
  });

  it('do not stop a good key that was seen before, lately or not', async () => {
    const good = await newKey(0);
    expect((await askStrict(good)).status).toBe(200);
    await useUp();
    expect((await askStrict(good)).status).toBe(200);
    setAhead(2_000);
    expect((await askStrict(generateKey())).status).toBe(429);
    expect((await askStrict(good)).status).toBe(200);
  });

  it('keep a new good key waiting for a second, however many they are', async () => {
    await useUp();
    const good = await Promise.all(Array.from({ length: 5 }, () => newKey()));
    const sent: Promise<unknown>[] = [];
    const flood = setInterval(() => sent.push(askStrict(generateKey()).catch(() => undefined)), 2);
    try {
      for (const key of good) {
        const refused = await limitOf(askStrict(key));
        expect(refused).toMatchObject({ status: 429, retryAfter: '1' });
      }
      await delay(1_000);
      for (const key of good) expect((await askStrict(key)).status).toBe(200);
    } finally {
      clearInterval(flood);
      await Promise.all(sent);
    }
  });

  it('keep a new good key that comes later waiting no longer', async () => {
    await useUp();
    for (let keys = 0; keys < 2; keys += 1) {
      const good = await newKey();
      expect((await askStrict(good)).status).toBe(429);
      await delay(1_000);
      expect((await askStrict(good)).status).toBe(200);
    }
  });

  it('cost MongoDB a few queries a second, however many they are', async () => {
    await useUp();
    const commands = await sentDuring(async () => {
      const end = performance.now() + 1_000;
      while (performance.now() < end) {
        const keys = Array.from({ length: 20 }, generateKey);
        const answers = await Promise.all(keys.map(askStrict));
        for (const { status } of answers) expect(status).toBe(429);
      }
    }, strict);
    expect(commands.length).toBeGreaterThan(0);
    expect(commands.length).toBeLessThan(8);
  });

  it('are not looked up for having the id of a good one, or once having been good', async () => {
    const good = await newKey(0);
    const revoked = await newKey(0);
    const keys = strict.keys;
    await keys.revoke(keyIdOf(revoked) ?? '');
    expect((await askStrict(good)).status).toBe(200);
    expect((await askStrict(revoked)).status).toBe(401);
    for (let i = 1; i < limit; i += 1) await askStrict('nonsense');
    setAhead(2_000);
    const secret = generateKey().slice(17, 49);
    const commands = await sentDuring(async () => {
      expect((await askStrict(withChecksum(good.slice(0, 17) + secret))).status).toBe(429);
      expect((await askStrict(revoked)).status).toBe(429);
    }, strict);
    expect(commands).toEqual([]);
  });

  it('are counted by the IPv6 network', async () => {
    const { mongodbUri } = service.config;
    const behind = await createTestApp({ mongodbUri, authFailuresPerMinute: 2, trustProxy: 1 });
    const from = (address: string) =>
      ask(generateKey(), FIXTURE, { headers: { 'X-Forwarded-For': address } }, behind);
    try {
      for (const host of [1, 2]) expect((await from(`2001:db8::${host}`)).status).toBe(401);
      expect((await from('2001:db8::3')).status).toBe(429);
      expect((await from('2001:db8:0:1::1')).status).toBe(401);
    } finally {
      await behind.close();
    }
  });

  it.each([
    ['a proxy', 1],
    ['the service itself, where none is trusted,', 0],
  ])(
    'are counted by the address that %s saw, whatever its client claims to be',
    async (_which, trustProxy) => {
      const { mongodbUri } = service.config;
      const behind = await createTestApp({ mongodbUri, authFailuresPerMinute: 2, trustProxy });
      const claiming = (address: string) => {
        const headers = { 'X-Forwarded-For': `${address}, 192.0.2.1` };
        return ask(generateKey(), FIXTURE, { headers }, behind);
      };
      try {
        const answers: number[] = [];
        for (const host of [1, 2, 3]) answers.push((await claiming(`198.51.100.${host}`)).status);
        expect(answers).toEqual([401, 401, 429]);
      } finally {
        await behind.close();
      }
    },
  );

  it('end with the minute', async () => {
    await useUp();
    expect((await askStrict(generateKey())).status).toBe(429);
    setAhead(60_001);
    expect((await askStrict(generateKey())).status).toBe(401);
  });

  it('are not counted when there is no key at all', async () => {
    for (let i = 0; i <= limit; i += 1) {
      expect((await fetch(strict.url + FIXTURE, { headers: client() })).status).toBe(401);
    }
    expect((await askStrict(generateKey())).status).toBe(401);
  });
});

const withRedis = hasRedis ? describe : describe.skip;

withRedis(`counting together${hasRedis ? '' : ' (skipped: no redis-server on the PATH)'}`, () => {
  let redis: TestRedis;
  let replicas: [TestApp, TestApp];

  beforeAll(async () => {
    redis = await createTestRedis();
    const options = { mongodbUri: service.config.mongodbUri, redisUrl: redis.url };
    replicas = [await createTestApp(options), await createTestApp(options)];
  });

  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await redis.close();
  });

  it('holds over all replicas from the first request on', async () => {
    const key = await newKey(3);
    const [one, other] = replicas;
    expect(await limitOf(ask(key, FIXTURE, {}, one))).toMatchObject({
      status: 200,
      policy: '"default";q=3;w=60',
      limit: '"default";r=2;t=60',
    });
    expect((await limitOf(ask(key, PROVIDER, {}, other))).limit).toContain('r=1;');
    expect((await limitOf(ask(key, FIXTURE, {}, one))).limit).toContain('r=0;');
    const refused = await limitOf(ask(key, FIXTURE, {}, other));
    expect(refused.status).toBe(429);
    expect(Number(refused.retryAfter)).toBeGreaterThan(50);
    expect(Number(refused.retryAfter)).toBeLessThanOrEqual(60);
  });

  it('grants at once as much as it has, of what costs more than one', async () => {
    const key = await newKey(100);
    const asked = Array.from({ length: 40 }, (_, i) => askFor(5, key, 100, replicas[i % 2]));
    const granted = (await Promise.all(asked)).filter(({ status }) => status === 200);
    expect(granted).toHaveLength(20);
    expect((await askFor(1, key, 100, replicas[1])).status).toBe(429);
  });

  it('lets pass what fits, though one that does not fit comes in the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = await newKey(6);
      await askFor(5, key, 6, replicas[0]);
      const paths = [changesOf(50), ...Array.from({ length: 5 }, () => PROVIDER)];
      const asked = paths.map((path, index) => ask(key, path, {}, replicas[index % 2]));
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    }
  });

  it('takes all that is left from a key whose whole limit is below a cost', async () => {
    const key = await newKey(3);
    expect(await askFor(5, key, 3, replicas[0])).toMatchObject({
      status: 200,
      RateLimit: '"default";r=0;t=60',
    });
    expect((await askFor(1, key, 3, replicas[1])).status).toBe(429);
  });

  it.each([
    ['is an hour late since the clock of Redis was set back', ['pexpire', 3_660_000]],
    ['never comes', ['persist']],
  ] as const)('begins a new window where the end of one %s', async (_when, [command, ...args]) => {
    const key = await newKey(1);
    const client = new Redis(redis.url);
    let counted: string | undefined;
    // On a busy machine Redis may answer too late, and the replica counts for itself.
    await until(async () => {
      await ask(key, FIXTURE, {}, replicas[0]);
      [counted] = await client.keys(`*${keyIdOf(key)}`);
      return counted !== undefined;
    });
    const changed = await client.call(command, counted ?? '', ...args);
    await client.quit();
    expect(changed).toBe(1);
    const answers = [ask(key, FIXTURE, {}, replicas[0]), ask(key, FIXTURE, {}, replicas[0])];
    expect(await Promise.all(answers.map(limitOf))).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ status: 200, limit: '"default";r=0;t=60' }),
        expect.objectContaining({ status: 429, retryAfter: '60' }),
      ]),
    );
  });

  it.each([
    ['hangs', 'timed out', async () => redis.freeze(), async () => redis.thaw()],
    ['is gone', 'ECONNREFUSED', async () => redis.stop(), async () => redis.start()],
    [
      'has another password',
      'WRONGPASS',
      async () => changePassword(redis.password, 'another'),
      async () => changePassword('another', redis.password),
    ],
    [
      'is a replica',
      'READONLY',
      async () => replicate('127.0.0.1', 1),
      async () => replicate('no', 'one'),
    ],
    ['is full', 'OOM', async () => setMemory('1'), async () => setMemory('0')],
  ])('each replica counts for itself while Redis %s', async (_how, reason, leave, comeBack) => {
    const [key, spent] = [await newKey(2), await newKey(1)];
    await ask(spent, FIXTURE, {}, replicas[0]);
    const loggedBefore = redisLines().length;
    await leave();
    for (const replica of replicas) {
      const began = performance.now();
      for (const status of [200, 200, 429]) {
        expect((await ask(key, FIXTURE, {}, replica)).status).toBe(status);
        // Nothing is counted of what does not fit: that says nothing of whether Redis takes writes.
        await ask(spent, FIXTURE, {}, replica);
      }
      expect(performance.now() - began).toBeLessThan(1_000);
    }
    await until(() => redisLines().length === loggedBefore + replicas.length);
    await comeBack();
    await untilShared();
    // Once from each replica.
    const lines = redisLines().slice(loggedBefore).toSorted();
    expect(lines).toEqual([
      expect.stringContaining(reason),
      expect.stringContaining(reason),
      expect.stringContaining('Redis is back'),
      expect.stringContaining('Redis is back'),
    ]);
    for (const { logged } of replicas) expect(logged.join('')).not.toContain(redis.password);
  });

  it('is known to go on as soon as Redis is back, though nobody asks', async () => {
    const counter = replicas[0].app.get(RequestCounter);
    await redis.stop();
    await until(() => counter.isRedisAway);
    await redis.start();
    await until(() => !counter.isRedisAway);
    expect((await replicas[0].getOpen('/metrics')).text).toMatch(/^redis_away 0$/m);
  });

  it('needs no other rights in Redis than the guide for operators names', async () => {
    const guide = await readFile('docs/operations.md', 'utf8');
    const [, rights = ''] = /`REDIS_URL` needs `([^`]+)`/.exec(guide) ?? [];
    const client = new Redis(redis.url);
    await client.call('acl', 'setuser', 'counter', 'reset', 'on', '>pass', ...rights.split(' '));
    await client.quit();
    const redisUrl = `redis://counter:pass@${new URL(redis.url).host}/1`;
    const replica = await createTestApp({ mongodbUri: service.config.mongodbUri, redisUrl });
    try {
      expect((await ask(await newKey(1), FIXTURE, {}, replica)).status).toBe(200);
      expect(replica.app.get(RequestCounter).isRedisAway).toBe(false);
      expect(replica.logged.join('')).not.toContain('Redis is away');
    } finally {
      await replica.close();
    }
  });

  it.each([
    ['Redis lacks that of the URL', 'DB index is out of range', '+@all', 99],
    ['its user may not select that of the URL', "permissions to run the 'select'", '-select', 1],
  ])('counts nothing in another database, where %s', async (_why, reason, rights, database) => {
    const client = new Redis(redis.url);
    await client.call('acl', 'setuser', 'caller', 'reset', 'on', '>pass', '~*', '+@all', rights);
    const redisUrl = `redis://caller:pass@${new URL(redis.url).host}/${database}`;
    const alone = await createTestApp({ redisUrl });
    try {
      const key = await newKey(1_000, alone);
      // More than one connection is made meanwhile.
      const end = performance.now() + 500;
      while (performance.now() < end) await ask(key, FIXTURE, {}, alone);
      expect(await client.keys(`*${keyIdOf(key)}`)).toEqual([]);
      expect(alone.logged.join('').match(/Redis is .*/g)).toEqual([
        expect.stringContaining(reason),
      ]);
    } finally {
      await client.quit();
      await alone.close();
    }
  });

  function redisLines(): string[] {
    return replicas.flatMap(({ logged }) => logged.join('').match(/Redis is .*/g) ?? []);
  }

  async function replicate(...primary: [host: string, port: number | string]): Promise<void> {
    const client = new Redis(redis.url);
    await client.call('replicaof', ...primary);
    await client.quit();
  }

  async function setMemory(bytes: string): Promise<void> {
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory', bytes);
    await client.quit();
  }

  /** Ends all connections, so that the clients need the new one. */
  async function changePassword(from: string, to: string): Promise<void> {
    const client = new Redis(redis.url.replace(redis.password, from));
    await client.config('SET', 'requirepass', to);
    await client.call('client', 'kill', 'skipme', 'yes');
    await client.quit();
  }

  async function untilShared(): Promise<void> {
    const [one, other] = replicas;
    await until(async () => {
      const key = await newKey(1_000);
      await ask(key, FIXTURE, {}, one);
      const { limit } = await limitOf(ask(key, FIXTURE, {}, other));
      return limit?.includes('r=998;') ?? false;
    });
  }
});

it('a Redis that answers byte by byte costs a request 200 ms at most', async () => {
  const redis = await slowRedis();
  const alone = await createTestApp({ redisUrl: redis.url });
  try {
    const key = await newKey(2, alone);
    const other = await newKey(undefined, alone);
    const began = performance.now();
    while (redis.counted === 0 && performance.now() - began < 2_000) {
      await ask(other, FIXTURE, {}, alone);
    }
    expect(redis.counted).toBeGreaterThan(0);
    for (const status of [200, 200, 429]) {
      expect((await ask(key, FIXTURE, {}, alone)).status).toBe(status);
    }
    expect(performance.now() - began).toBeLessThan(2_000);
  } finally {
    await alone.close();
    redis.close();
  }
});

it('a server that ends leaves Redis', async () => {
  const redis = await slowRedis();
  const ending = await createTestApp({ redisUrl: redis.url });
  try {
    await until(() => redis.connected === 1);
  } finally {
    await ending.close();
  }
  await until(() => redis.connected === 0, 2_000);
  redis.close();
});

it('a Redis that is still loading its data keeps no server from starting, and is told as away', async () => {
  const redis = await slowRedis('loading:1');
  const alone = await createTestApp({ redisUrl: redis.url });
  try {
    const key = await newKey(1, alone);
    expect((await ask(key, FIXTURE, {}, alone)).status).toBe(200);
    expect((await ask(key, FIXTURE, {}, alone)).status).toBe(429);
    expect(alone.logged.filter((line) => line.includes('Redis is away'))).toHaveLength(1);
    expect((await alone.getOpen('/metrics')).text).toMatch(/^redis_away 1$/m);
  } finally {
    await alone.close();
    redis.close();
  }
});

/**
 * Answers all but the counting at once; that a byte each 100 ms, as a link that loses packets would.
 * @param info what it says of itself
 */
async function slowRedis(info = 'loading:0') {
  const state = { counted: 0, connected: 0 };
  const server = createServer((socket) => {
    state.connected += 1;
    socket.on('close', () => (state.connected -= 1));
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const commands = data
        .toString()
        .split(/^\*\d+\r\n/m)
        .slice(1);
      // The first time on a connection the whole script comes, and then its hash.
      if (!commands.some((command) => command.includes('eval'))) {
        for (const command of commands)
          socket.write(/^\$4\r\ninfo/i.test(command) ? `$9\r\n${info}\r\n` : '+OK\r\n');
        return;
      }
      state.counted += 1;
      const bytes = [...'*2\r\n:00000000000000000000000000000001\r\n:60000\r\n'];
      const drip = setInterval(() => {
        const byte = bytes.shift();
        if (byte === undefined || socket.destroyed) clearInterval(drip);
        else socket.write(byte);
      }, 100);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    get counted() {
      return state.counted;
    },
    get connected() {
      return state.connected;
    },
    close: () => void server.close(),
  };
}

it('a Redis that is away at the start keeps no server from starting', async () => {
  const alone = await createTestApp({ redisUrl: 'redis://:s3cret@127.0.0.1:1' });
  try {
    const key = await newKey(1, alone);
    expect((await ask(key, FIXTURE, {}, alone)).status).toBe(200);
    expect((await ask(key, FIXTURE, {}, alone)).status).toBe(429);
    expect(alone.logged.filter((line) => line.includes('Redis is away'))).toHaveLength(1);
    expect((await alone.getOpen('/metrics')).text).toMatch(/^redis_away 1$/m);
    expect(alone.logged.join('')).not.toContain('s3cret');
  } finally {
    await alone.close();
  }
});

it('a Redis that refuses its password keeps no server from starting, nor is the password logged', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const commands = data.toString().match(/^\*\d+\r\n/gm) ?? [];
      socket.write('-WRONGPASS invalid username-password pair\r\n'.repeat(commands.length));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const alone = await createTestApp({ redisUrl: `redis://:s3cret@127.0.0.1:${port}` });
  try {
    const key = await newKey(1, alone);
    expect((await ask(key, FIXTURE, {}, alone)).status).toBe(200);
    expect((await ask(key, FIXTURE, {}, alone)).status).toBe(429);
    expect(alone.logged.join('')).toContain('WRONGPASS');
    expect(alone.logged.join('')).not.toContain('s3cret');
  } finally {
    await alone.close();
    server.close();
  }
});

it('what closes each connection at once is told as away', async () => {
  const server = createServer((socket) => socket.on('data', () => socket.end()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const alone = await createTestApp({ redisUrl: `redis://127.0.0.1:${port}` });
  try {
    await until(() => alone.app.get(RequestCounter).isRedisAway);
    expect(alone.logged.filter((line) => line.includes('Redis is away'))).toHaveLength(1);
  } finally {
    await alone.close();
    server.close();
  }
});

it('what Redis itself answers is told, too, where it could not be reached before', async () => {
  let isThere = false;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const commands = data.toString().match(/^\*\d+\r\n/gm) ?? [];
      if (isThere) socket.write('-NOAUTH Authentication required.\r\n'.repeat(commands.length));
      else socket.end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const alone = await createTestApp({ redisUrl: `redis://127.0.0.1:${port}` });
  const told = () => alone.logged.filter((line) => line.includes('Redis is away'));
  try {
    await until(() => told().length === 1);
    isThere = true;
    await until(() => told().length === 2);
    expect(told()[1]).toContain('NOAUTH');
    // It is looked for several times a second.
    await delay(1_500);
    expect(told()).toHaveLength(2);
  } finally {
    await alone.close();
    server.close();
  }
});

/** Names of the commands that the service sends while something is done, heartbeat and change streams apart. */
async function sentDuring(work: () => Promise<unknown>, { database } = service): Promise<string[]> {
  const commands = await commandsDuring(database.connection, work);
  return commands.map(({ commandName }) => commandName);
}
