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
import { MongoClient } from 'mongodb';
import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { StoredApiKey } from '../src/api-keys/stored-api-key.js';
import type { ApiKeysService } from '../src/api-keys/api-keys.service.js';
import { DEMO_KEY } from '../src/api-keys/demo-key.js';
import { generateKey, hashKey, keyIdOf, withChecksum } from '../src/api-keys/key-form.js';
import { KeyRecords } from '../src/api-keys/key-records.js';
import { KeyVerifier } from '../src/api-keys/key-verifier.js';
import { ChangeFeed } from '../src/change-feed/change-feed.js';
import { parseWholeNumber } from '../src/common/option-values.js';
import { FastPath } from '../src/markets/fast-path.js';
import { createTestApp, type TestApp } from './app.js';
import { keyRecord } from './factories.js';
import { Line } from './line.js';
import { commandsDuring, monitored } from './mongo-commands.js';
import { testDatabaseUri, TestMongod } from './mongo.js';
import { until } from './until.js';
import { StreamClient } from './watch-client.js';

const PATH = '/v1/markets/market/fixture/nobody';
const DAY_MS = 86_400_000;

let service: TestApp;
let keys: ApiKeysService;
const seenKeys: string[] = [];

beforeAll(async () => {
  const mongodbUri = monitored(testDatabaseUri());
  service = await createTestApp({ mongodbUri, authFailuresPerMinute: 0 });
  keys = service.keys;
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await service.close();
});

async function newKey(options: { expiresInMs?: number } = {}): Promise<string> {
  const { key } = await keys.create({ name: 'test', rateLimit: 0, ...options });
  seenKeys.push(key);
  return key;
}

function withHeader(key: string, url = service.url): Promise<Response> {
  return fetch(url + PATH, { headers: { 'X-API-Key': key } });
}

function withQuery(key: string): Promise<Response> {
  return fetch(`${service.url}${PATH}?api_key=${key}`);
}

/** Sends header lines as they are, repeated ones too, which fetch would join. */
async function send(query: string, headerLines: readonly string[]): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.url);
    const headers = ['Host', hostname, ...headerLines.flatMap((value) => ['X-API-Key', value])];
    httpRequest({ hostname, port, path: PATH + query, headers }, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('end', () => resolve(new Response(body, { status: answer.statusCode ?? 0 })));
    })
      .on('error', reject)
      .end();
  });
}

/** What MongoDB is asked about keys while something is done. */
async function keyQueriesDuring(work: () => Promise<unknown>): Promise<number> {
  const commands = await commandsDuring(service.database.connection, work);
  return commands.filter(({ command }) => command['find'] === 'api_keys').length;
}

/** Asks without a pause until the answer has another status; tells when that request began. */
async function untilNot(status: number, ask: () => Promise<Response>): Promise<number> {
  for (;;) {
    const began = performance.now();
    const answer = await ask();
    if (answer.status !== status) return began;
  }
}

/** Resolves when MongoDB is asked for this key, alone or with others. */
function lookedUp(key: string): Promise<void> {
  const client = service.database.connection.getClient();
  return new Promise((resolve) => {
    client.on('commandStarted', function note({ command }) {
      if (command['find'] !== 'api_keys') return;
      if (!JSON.stringify(command['filter']).includes(keyIdOf(key) ?? '')) return;
      client.off('commandStarted', note);
      resolve();
    });
  });
}

describe('a good key', () => {
  it('opens in the header and in the query', async () => {
    const key = await newKey();
    expect((await withHeader(key)).status).toBe(200);
    expect((await withQuery(key)).status).toBe(200);
    expect((await fetch(`${service.url}${PATH}?%61pi_key=${key}`)).status).toBe(200);
  });

  it('opens beside others of the same caller', async () => {
    const both = [await newKey(), await newKey()];
    for (const key of both) expect((await withHeader(key)).status).toBe(200);
  });

  it('is never in the database', async () => {
    const key = await newKey();
    const byId: object = { _id: keyIdOf(key) };
    const stored = await service.database.connection.collection('api_keys').findOne(byId);
    expect(stored).toEqual({
      _id: keyIdOf(key),
      name: 'test',
      rateLimit: 0,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      createdAt: expect.any(Date),
    });
  });
});

it('a key that could not be shown, nor taken back, is one to revoke', async () => {
  jest.spyOn(storedKeys(), 'deleteOne').mockRejectedValueOnce(new Error('away'));
  const unseen = keys.create({ name: 'unseen' }, () => Promise.reject(new Error('full')));
  await expect(unseen).rejects.toThrow(/^Key \w{12} may work, though nobody has seen it/);
});

describe('more than one credential', () => {
  const one = generateKey();
  it.each<[what: string, query: string, headers: string[]]>([
    ['twice in the query', `?api_key=${one}&api_key=${generateKey()}`, []],
    ['twice the same', `?api_key=${one}&api_key=${one}`, []],
    ['under an encoded name', `?api_key=${one}&api%5Fkey=${one}`, []],
    ['in query and header', `?api_key=${one}`, [one]],
    ['on two header lines', '', [one, one]],
    ['empty in the query', `?api_key=`, [one]],
    ['empty on a header line', '', [one, '']],
  ])('is refused: %s', async (_what, query, headers) => {
    const answer = await send(query, headers);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'ambiguous_credentials', status: 400 });
  });
});

describe('any other key', () => {
  const unknown = generateKey();
  const cases: [reason: string, ask: () => Promise<Response>][] = [
    ['none', () => fetch(service.url + PATH)],
    ['empty', () => withQuery('')],
    ['empty', () => withHeader('')],
    ['malformed', () => withHeader('nonsense')],
    ['malformed', () => withQuery(DEMO_KEY.slice(0, -1) + 'x')],
    ['malformed', () => withQuery('%FF')],
    ['unknown', () => withHeader(unknown)],
    ['unknown', async () => withHeader(ofSameId(await newKey()))],
    [
      'revoked',
      async () => {
        const key = await newKey();
        await keys.revoke(keyIdOf(key) ?? '');
        return withHeader(key);
      },
    ],
    ['expired', async () => withHeader(await newKey({ expiresInMs: 1 }))],
  ];

  it.each(cases)('gets the one same answer, and the log the reason: %s', async (reason, ask) => {
    const logged = service.logged.length;
    const answer = await ask();
    expect(answer.status).toBe(401);
    expect(answer.headers.get('WWW-Authenticate')).toBe('ApiKey realm="markets"');
    expect(answer.headers.get('Content-Type')).toBe('application/problem+json');
    expect([...answer.headers.keys()].filter((name) => /ratelimit|retry/.test(name))).toEqual([]);
    expect(await answer.json()).toEqual({
      type: 'urn:markets-odds:problem:unauthorized',
      title: 'Unauthorized',
      status: 401,
      detail:
        'A valid API key is needed, in the header X-API-Key or as the query parameter api_key.',
      code: 'unauthorized',
      requestId: expect.any(String),
    });
    const line = service.logged.slice(logged).join();
    expect(line).toContain(`"authFailure":"${reason}"`);
    // Of a key that somebody was given, so that its caller can be told.
    expect(line.includes('"keyId":')).toBe(['revoked', 'expired'].includes(reason));
  });
});

/** A key with the id of another, and a secret of its own. */
function ofSameId(key: string): string {
  return withChecksum(`${key.slice(0, 17)}${generateKey().slice(17, 49)}`);
}

async function statusWith(fields: object): Promise<{ status: number; policy: string | null }> {
  const key = generateKey();
  await storedKeys().insertOne({ ...keyRecord(key), ...fields });
  const { status, headers } = await withHeader(key);
  return { status, policy: headers.get('RateLimit-Policy') };
}

describe('a record that others wrote', () => {
  const later = new Date(Date.now() + DAY_MS);
  it.each<[what: string, fields: object, status: number]>([
    ['expiresAt as text', { expiresAt: later.toISOString() }, 401],
    ['expiresAt as a number', { expiresAt: later.getTime() }, 401],
    ['expiresAt as an object', { expiresAt: {} }, 401],
    ['expiresAt null', { expiresAt: null }, 200],
    ['revokedAt null', { revokedAt: null }, 200],
    ['revokedAt as text', { revokedAt: '' }, 401],
    ['revokedAt false', { revokedAt: false }, 401],
    ['revokedAt in the future', { revokedAt: later }, 401],
    ['hash as a number', { hash: 7 }, 401],
    ['no hash', { hash: null }, 401],
    ['no name', { name: null }, 200],
    ['a name that is an object', { name: {} }, 200],
  ])('with %s', async (_what, fields, status) => {
    expect(await statusWith(fields)).toMatchObject({ status });
  });

  it('may have the largest limit that the command takes, which its answers tell', async () => {
    const rateLimit = parseWholeNumber('9'.repeat(15));
    const policy = '"default";q=999999999999999;w=60';
    expect(await statusWith({ rateLimit })).toEqual({ status: 200, policy });
  });

  it.each([-1, 1.5, NaN, Infinity, 1e15, 1e300, '5', {}, [], true])(
    'with a limit of %p has the default',
    async (rateLimit) => {
      const policy = '"default";q=600;w=60';
      expect(await statusWith({ rateLimit, streams: rateLimit })).toEqual({ status: 200, policy });
    },
  );

  it('may have its hash in capitals', async () => {
    const key = generateKey();
    await storedKeys().insertOne({ ...keyRecord(key), hash: hashKey(key).toUpperCase() });
    expect((await withHeader(key)).status).toBe(200);
  });

  it.each([
    ['expiresAt', 'soon', 401],
    ['rateLimit', -1, 200],
    ['streams', '5', 200],
  ])('is told of once by its id when its %s is none', async (field, value, status) => {
    const key = generateKey();
    await storedKeys().insertOne({ ...keyRecord(key), [field]: value });
    const logged = service.logged.length;
    for (let i = 0; i < 3; i += 1) {
      expect((await withHeader(key)).status).toBe(status);
      const now = performance.now();
      jest.spyOn(performance, 'now').mockReturnValue(now + 2_000);
    }
    const told = service.logged.slice(logged).filter((line) => line.includes(`${keyIdOf(key)}`));
    const warnings = told.filter((line) => line.includes('"level":"warn"'));
    expect(warnings).toEqual([expect.stringContaining(`can't be understood: ${field}`)]);
  });
});

describe('with AUTH_ALLOW_QUERY_KEY=false', () => {
  let headerOnly: TestApp;

  beforeAll(async () => {
    const { mongodbUri } = service.config;
    headerOnly = await createTestApp({ mongodbUri, authAllowQueryKey: false });
  });

  afterAll(async () => {
    await headerOnly.close();
  });

  it('a key in the query is refused, and nobody is told to send it there', async () => {
    const key = await newKey();
    const answer = await fetch(`${headerOnly.url}${PATH}?api_key=${key}`);
    expect(answer.status).toBe(401);
    expect(await answer.text()).not.toContain('api_key');
  });

  it.each(['api_key=KEY', 'api_key=', 'api_key=a&api_key=b'])(
    'a key in the header and %s in the query are one too many',
    async (query) => {
      const key = await newKey();
      const url = `${headerOnly.url}${PATH}?${query.replace('KEY', key)}`;
      const answer = await fetch(url, { headers: { 'X-API-Key': key } });
      const problem = await answer.text();
      expect(JSON.parse(problem)).toMatchObject({ status: 400, code: 'ambiguous_credentials' });
      expect(problem).not.toContain('api_key');
    },
  );

  it('no fault of a query and no documentation names the query parameter', async () => {
    const fault = await headerOnly.get(`${PATH}?apikey=x`).expect(400);
    const document = await headerOnly.getOpen('/openapi.json').expect(200);
    expect(fault.text).toContain('is not known: allowed are marketMoment');
    expect(document.text).toContain('"X-API-Key":[]');
    for (const { text } of [fault, document]) expect(text).not.toContain('api_key');
  });

  it('a key in the query is none for what is answered from memory, either', async () => {
    const { known } = headerOnly.app.get(FastPath);
    await until(async () => (await headerOnly.get(PATH).expect(200)) && known.has(PATH));
    await headerOnly.getOpen(`${PATH}?api_key=${headerOnly.key}`).expect(401);
  });
});

describe('checking a key', () => {
  it('asks MongoDB nothing about malformed ones', async () => {
    const queries = await keyQueriesDuring(async () => {
      for (let i = 0; i < 20; i += 1) await withHeader(`mos_${i}`);
      await withHeader(DEMO_KEY.replace('demo', 'Demo'));
    });
    expect(queries).toBe(0);
  });

  it('asks MongoDB once for many requests that come at once, and not again soon', async () => {
    const key = await newKey();
    stopClocks();
    const many = () => Promise.all(Array.from({ length: 50 }, () => withHeader(key)));
    expect(await keyQueriesDuring(many)).toBe(1);
    expect(await keyQueriesDuring(many)).toBe(0);
  });

  it('shares a query that is under way', async () => {
    const key = await newKey();
    const verifier = service.app.get(KeyVerifier);
    const queries = await keyQueriesDuring(async () => {
      const asked = lookedUp(key);
      const first = verifier.check(key);
      await asked;
      expect(await verifier.check(key)).toEqual(await first);
    });
    expect(queries).toBe(1);
  });

  it('lets a good one in that is asked for while another is read', async () => {
    const [first, second] = [await newKey(), await newKey()];
    const verifier = service.app.get(KeyVerifier);
    const asked = lookedUp(first);
    const read = verifier.check(first);
    await asked;
    expect(await verifier.check(second)).toMatchObject({ id: keyIdOf(second) });
    expect(await read).toMatchObject({ id: keyIdOf(first) });
  });

  it('asks MongoDB once about an unknown one', async () => {
    const key = generateKey();
    stopClocks();
    const many = () => Promise.all(Array.from({ length: 20 }, () => withHeader(key)));
    expect(await keyQueriesDuring(many)).toBe(1);
    expect(await keyQueriesDuring(many)).toBe(0);
  });

  it('learns within 2 seconds that an unknown one is there after all', async () => {
    const key = generateKey();
    // Time alone must do it, without a word from the change feed.
    jest.spyOn(service.app.get(KeyRecords), 'invalidate').mockReturnValue();
    expect((await withHeader(key)).status).toBe(401);
    const record: object = { _id: keyIdOf(key), name: 'restored', hash: hashKey(key) };
    await service.database.connection.collection('api_keys').insertOne(record);
    const later = performance.now() + 2_001;
    jest.spyOn(performance, 'now').mockReturnValue(later);
    expect((await withHeader(key)).status).toBe(200);
  });

  it('reads keys in use again behind the requests, all of them in one query', async () => {
    const inUse = await Promise.all(Array.from({ length: 20 }, () => newKey()));
    const useAll = () => Promise.all(inUse.map((key) => withHeader(key)));
    const from = stopClocks();
    const records = service.app.get(KeyRecords);
    await useAll();
    await useAll();
    jest.spyOn(performance, 'now').mockImplementation(() => from + 1_500);
    const verifier = service.app.get(KeyVerifier);
    const readAt = (key: string) => records.recall(keyIdOf(key) ?? '')?.readAt.monotonicMs ?? 0;
    const queries = await keyQueriesDuring(async () => {
      for (const key of inUse) expect(verifier.recall(key)).toMatchObject({ name: 'test' });
      // A read that is under way would be out of time when the clock jumps.
      await until(() => inUse.every((key) => readAt(key) > from));
    });
    expect(queries).toBe(1);
    jest.spyOn(performance, 'now').mockImplementation(() => from + 3_000);
    for (const key of inUse) expect(verifier.recall(key)).toMatchObject({ name: 'test' });
    // And so on, as long as they are in use.
    await until(() => inUse.every((key) => readAt(key) > from + 1_500));
  });

  it('forgets what it is told to, and what a query under way will bring', async () => {
    const verifier = service.app.get(KeyVerifier);
    const records = service.app.get(KeyRecords);
    // The change feed may tell late that the key was made, which would be remembered.
    const invalidate = records.invalidate.bind(records);
    jest
      .spyOn(records, 'invalidate')
      .mockImplementation((id, stored) => void (stored ?? invalidate(id, stored)));
    const key = await newKey();
    const id = keyIdOf(key) ?? '';
    await withHeader(key);
    expect(verifier.recall(key)).toMatchObject({ id });
    records.invalidate(id, undefined);
    expect(verifier.recall(key)).toBeUndefined();

    const asked = lookedUp(key);
    const lookup = verifier.check(key);
    await asked;
    records.invalidate(id, undefined);
    expect(await lookup).toMatchObject({ id });
    expect(verifier.recall(key)).toBeUndefined();
  });

  it.each([
    ['of a first look-up', false],
    ['of a key in use', true],
  ])('heeds a change that comes before the answer %s', async (_which, inUse) => {
    const key = generateKey();
    const record = keyRecord(key);
    const records = service.app.get(KeyRecords);
    const changed = records.invalidate.bind(records);
    // The test alone tells what has changed.
    jest.spyOn(records, 'invalidate').mockReturnValue();
    await storedKeys().insertOne(record);
    if (inUse) await withHeader(key);
    const id = keyIdOf(key) ?? '';
    const asked = lookedUp(key);
    const read = records.read(id);
    await asked;
    changed(id, { ...record, revokedAt: new Date() });
    await read;
    expect(records.recall(id)).toBeUndefined();
  });

  it('tells the limits of the key', async () => {
    const { id, key } = await keys.create({ name: 'limits', rateLimit: 7, streams: 3 });
    const caller = { id, name: 'limits', rateLimit: 7, streams: 3 };
    expect(await service.app.get(KeyVerifier).check(key)).toEqual(caller);
    expect(service.app.get(KeyVerifier).recall(key)).toEqual(caller);
  });

  it('survives a flood of invented keys in bounded memory, good keys still at hand', async () => {
    const good = await newKey();
    // Whatever is forgotten is so for want of room.
    stopClocks();
    await withHeader(good);
    const verifier = service.app.get(KeyVerifier);
    const flood = Array.from({ length: 11_000 }, generateKey);
    for (let from = 0; from < flood.length; from += 500) {
      const verdicts = flood.slice(from, from + 500).map(async (key) => verifier.check(key));
      expect(new Set(await Promise.all(verdicts))).toEqual(new Set(['unknown']));
    }
    expect(verifier.recall(good)).toMatchObject({ name: 'test' });
    const records = service.app.get(KeyRecords);
    const known = (key: string) => records.recall(keyIdOf(key) ?? '');
    const remembered = flood.filter((key) => known(key) && !known(key)?.record);
    expect(remembered).toEqual(flood.slice(-10_000));
  });
});

const hasEnded = (key: string) => service.app.get(KeyVerifier).hasEnded(keyIdOf(key) ?? '');

describe('checking again a key that has been let in', () => {
  it('costs one query, however many are checked at a time', async () => {
    const inUse = Array.from({ length: 300 }, generateKey);
    await storedKeys().insertMany(inUse.map(keyRecord));
    const queries = await keyQueriesDuring(async () => {
      const verdicts = await Promise.all(inUse.map(hasEnded));
      expect(new Set(verdicts)).toEqual(new Set([false]));
    });
    expect(queries).toBe(1);
  });

  it.each<[what: string, end: (id: string) => Promise<unknown>]>([
    ['revoked', (id) => keys.revoke(id)],
    ['gone', (id) => storedKeys().deleteOne({ _id: id })],
    ['expired', (id) => storedKeys().updateOne({ _id: id }, { $set: { expiresAt: new Date(0) } })],
  ])('learns within a second that it is %s', async (_what, end) => {
    // Without a word from the change feed the age of the record alone must do.
    jest.spyOn(service.app.get(KeyRecords), 'invalidate').mockReturnValue();
    const key = await newKey();
    expect(await hasEnded(key)).toBe(false);
    await end(keyIdOf(key) ?? '');
    const now = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(now + 1_000);
    expect(await hasEnded(key)).toBe(true);
  });

  it('takes one that never was for one that has ended', async () => {
    expect(await hasEnded(generateKey())).toBe(true);
  });
});

function storedKeys() {
  return service.database.connection.collection<{ _id: string; [field: string]: unknown }>(
    'api_keys',
  );
}

describe('a revoked key', () => {
  it('is dead within 2 seconds everywhere, in use or not', async () => {
    const { mongodbUri } = service.config;
    const other = await createTestApp({ mongodbUri });
    try {
      const key = await newKey();
      const urls = [service.url, other.url];
      for (const url of urls) expect((await withHeader(key, url)).status).toBe(200);
      const revoked = performance.now();
      await keys.revoke(keyIdOf(key) ?? '');
      const ended = await Promise.all(urls.map((url) => untilNot(200, () => withHeader(key, url))));
      for (const end of ended) expect(end - revoked).toBeLessThan(2_000);
      for (const url of urls) expect((await withHeader(key, url)).status).toBe(401);
    } finally {
      await other.close();
    }
  });
});

async function find(id: string): Promise<StoredApiKey | undefined> {
  return (await keys.list()).find(({ _id }) => _id === id);
}

function setWallClock(time: number): void {
  jest.spyOn(Date, 'now').mockReturnValue(time);
}

/** On a busy machine nothing gets old but by the test's own hand. @returns the monotonic time from now on */
function stopClocks(): number {
  setWallClock(Date.now());
  const now = performance.now();
  jest.spyOn(performance, 'now').mockReturnValue(now);
  return now;
}

describe('rotation', () => {
  it('lets both keys work for the overlap, then the new one', async () => {
    const old = await keys.create({ name: 'rotated', rateLimit: 100, streams: 3 });
    expect((await withHeader(old.key)).status).toBe(200);
    const before = Date.now();
    const { id, key, record } = await keys.rotate(old.id, { overlapMs: DAY_MS });
    const limits = { rateLimit: 100, streams: 3 };
    expect(record).toMatchObject({ name: 'rotated', ...limits, rotatedFrom: old.id });
    expect(record.expiresAt).toBeUndefined();
    expect((await find(old.id))?.rotatedTo).toBe(id);
    // The end of the old key is seen when its record is read again.
    service.app.get(KeyRecords).invalidate(old.id, undefined);
    setWallClock(before + DAY_MS - 1);
    for (const each of [old.key, key]) expect((await withHeader(each)).status).toBe(200);
    setWallClock(before + DAY_MS + 5_000);
    expect((await withHeader(old.key)).status).toBe(401);
    expect((await withHeader(key)).status).toBe(200);
  });

  it('keeps the length of a life, and never lengthens that of the old key', async () => {
    const old = await keys.create({ name: 'short', expiresInMs: DAY_MS });
    const { record } = await keys.rotate(old.id, { overlapMs: 7 * DAY_MS });
    expect(Number(record.expiresAt) - Number(record.createdAt)).toBe(DAY_MS);
    expect((await find(old.id))?.expiresAt).toEqual(old.record.expiresAt);
  });

  it('ends the old key after the overlap, though another writer stored no expiry as null', async () => {
    const key = generateKey();
    await storedKeys().insertOne({ ...keyRecord(key), expiresAt: null });
    const id = keyIdOf(key) ?? '';
    const { record } = await keys.rotate(id, { overlapMs: DAY_MS });
    expect((await find(id))?.expiresAt).toEqual(new Date(+record.createdAt + DAY_MS));
  });

  it('is refused for keys that are revoked, expired, replaced already or not there', async () => {
    const rotate = (id: string) => keys.rotate(id, { overlapMs: DAY_MS });
    const revoked = keyIdOf(await newKey()) ?? '';
    await keys.revoke(revoked);
    await expect(rotate(revoked)).rejects.toThrow('The key is revoked.');
    const expired = keyIdOf(await newKey({ expiresInMs: 1 })) ?? '';
    await expect(rotate(expired)).rejects.toThrow('The key has expired.');
    const replaced = keyIdOf(await newKey()) ?? '';
    const { id } = await rotate(replaced);
    await expect(rotate(replaced)).rejects.toThrow(id);
    await expect(rotate('nobody')).rejects.toThrow('There is no key with this id');
  });

  it('makes one new key when two rotate at the same time', async () => {
    const { id } = await keys.create({ name: 'raced' });
    const results = await Promise.allSettled([
      keys.rotate(id, { overlapMs: DAY_MS }),
      keys.rotate(id, { overlapMs: DAY_MS }),
    ]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect((await keys.list()).filter(({ name }) => name === 'raced')).toHaveLength(2);
  });

  it('makes no new key for one that is revoked before it is done', async () => {
    const { id } = await keys.create({ name: 'revoked meanwhile' });
    const rotating = keys.rotate(
      id,
      { overlapMs: DAY_MS },
      async () => void (await keys.revoke(id)),
    );
    await expect(rotating).rejects.toThrow('the new one does not work');
    const left = (await keys.list()).filter(({ name }) => name === 'revoked meanwhile');
    expect(left).toEqual([expect.objectContaining({ _id: id, revokedAt: expect.any(Date) })]);
  });
});

describe('an expiring key', () => {
  it('ends at its time by the wall clock, though memory holds it', async () => {
    const key = await newKey({ expiresInMs: DAY_MS });
    expect((await withHeader(key)).status).toBe(200);
    setWallClock(Date.now() + DAY_MS);
    expect((await withHeader(key)).status).toBe(401);
  });

  it('works up to the millisecond that `keys list` shows, and no longer', async () => {
    const { key, record } = await keys.create({ name: 'test', rateLimit: 0, expiresInMs: DAY_MS });
    seenKeys.push(key);
    const end = record.expiresAt?.getTime() ?? 0;
    const clock = jest.spyOn(Date, 'now').mockReturnValue(end - 1);
    expect((await withHeader(key)).status).toBe(200);
    clock.mockReturnValue(end);
    expect((await withHeader(key)).status).toBe(401);
  });
});

describe('the demo key', () => {
  let embedded: TestApp;

  beforeAll(async () => {
    const { mongodbUri } = service.config;
    embedded = await createTestApp({ mongodbUri, isEmbedded: true });
  });

  afterAll(async () => {
    await embedded.close();
  });

  it('opens the embedded database alone, whoever copied its record elsewhere', async () => {
    await keys.ensureDemoKey();
    expect((await withHeader(DEMO_KEY, embedded.url)).status).toBe(200);
    const logged = service.logged.length;
    expect((await withHeader(DEMO_KEY)).status).toBe(401);
    expect(service.logged.slice(logged).join()).toContain('"authFailure":"demo"');
  });

  it('stays revoked', async () => {
    const revoked = await keys.revoke('demo00000000');
    await keys.ensureDemoKey();
    expect(await find('demo00000000')).toEqual(revoked);
    embedded.app.get(KeyRecords).invalidate('demo00000000', undefined);
    expect((await withHeader(DEMO_KEY, embedded.url)).status).toBe(401);
  });
});

describe('while MongoDB is away', () => {
  let mongod: TestMongod;
  let cutOff: TestApp;
  let known: string;
  let unused: string;

  beforeEach(async () => {
    mongod = await TestMongod.start();
    cutOff = await createTestApp({ mongodbUri: mongod.uri });
    const create = () => cutOff.keys.create({ name: 'test', rateLimit: 0 });
    [known, unused] = [(await create()).key, (await create()).key];
  });

  afterEach(async () => {
    await cutOff.close();
    await mongod.stop();
  });

  it.each([
    ['gone', 'SIGKILL'],
    ['hanging', 'SIGSTOP'],
  ] as const)('(%s) a key is trusted for 2 seconds, then it is a 503', async (_how, signal) => {
    const verifier = cutOff.app.get(KeyVerifier);
    // A record fresh from the database, the last word of it.
    cutOff.app.get(KeyRecords).invalidate(keyIdOf(known) ?? '', undefined);
    const askedAt = performance.now();
    expect((await withHeader(known, cutOff.url)).status).toBe(200);
    const toldAt = performance.now();
    await mongod.kill(signal);

    expect(await verifier.hasEnded(keyIdOf(unused) ?? '')).toBe(false);
    const unknown = await withHeader(unused, cutOff.url);
    expect(unknown.status).toBe(503);
    expect(unknown.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
    expect(await codeOf(unknown)).toBe('database_unavailable');
    expect(await codeOf(await withHeader('nonsense', cutOff.url))).toBe('unauthorized');

    let trustedAt = toldAt;
    await until(() => {
      const now = performance.now();
      const isTrusted = verifier.recall(known) !== undefined;
      if (isTrusted) trustedAt = now;
      return !isTrusted;
    });
    expect(performance.now() - askedAt).toBeGreaterThan(1_500);
    expect(trustedAt - toldAt).toBeLessThan(2_000);
    const began = performance.now();
    expect(await codeOf(await withHeader(known, cutOff.url))).toBe('database_unavailable');
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('a stream ends when its key expires all the same', async () => {
    const aDay = { name: 'test', expiresInMs: DAY_MS };
    const { key } = await cutOff.keys.create(aDay);
    const url = `${cutOff.url}/v1/markets/stream?eventId=any`;
    await until(() => cutOff.app.get(ChangeFeed).isCurrent);
    const stream = await StreamClient.open(url, { 'X-API-Key': key });
    try {
      await stream.named('current');
      await mongod.kill('SIGKILL');
      const later = Date.now() + 2 * DAY_MS;
      jest.spyOn(Date, 'now').mockReturnValue(later);
      expect((await stream.named('end')).data).toEqual({ reason: 'key' });
    } finally {
      stream.close();
    }
  });
});

it('a key ends within 2 seconds, though MongoDB’s word that it was good was long under way', async () => {
  // Where nothing tells of changes.
  const mongod = await TestMongod.start({ members: 0 });
  const line = await new Line(Number(mongod.ports[0])).listen();
  const slow = await createTestApp({ mongodbUri: `${line.url.replace('http', 'mongodb')}/test` });
  const client = new MongoClient(mongod.uri);
  try {
    line.underWayMs = 300;
    const first = withHeader(slow.key, slow.url);
    await delay(100);
    const records = client.db('test').collection<StoredApiKey>('api_keys');
    await records.updateMany({}, { $set: { revokedAt: new Date() } });
    const endsBy = performance.now() + 2_000;
    await first;
    await delay(endsBy - performance.now());
    // On a busy machine it may be too late to ask MongoDB.
    expect([401, 503]).toContain((await withHeader(slow.key, slow.url)).status);
  } finally {
    await slow.close();
    await client.close();
    line.close();
    await mongod.stop();
  }
});

async function codeOf(answer: Response): Promise<string> {
  const { code }: { code: string } = JSON.parse(await answer.text());
  return code;
}

it('no log line held a key or its secret', () => {
  const logs = service.logged.join('');
  expect(logs.length).toBeGreaterThan(10_000);
  for (const key of seenKeys) expect(logs).not.toContain(key.slice(17, 49));
});
