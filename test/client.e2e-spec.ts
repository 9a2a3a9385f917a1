import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import type { Filters } from '../clients/typescript/src/client.js';
import { demoMarkets } from '../src/demo/demo-markets.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, aRunner, store } from './factories.js';
import { PackedClient } from './packed-client.js';
import { until } from './until.js';

let service: TestApp;
let packed: PackedClient;
let client: InstanceType<PackedClient['exports']['MarketsClient']>;

beforeAll(async () => {
  packed = await PackedClient.install();
  service = await createTestApp();
  client = new packed.exports.MarketsClient({ baseUrl: service.url, apiKey: service.key });
}, 60_000);

afterAll(async () => {
  await service.close();
  await packed.remove();
});

const newId = () => `client-${randomUUID()}`;

async function storeMany(fixtureId: string, count: number): Promise<void> {
  const markets = Array.from({ length: count }, () => aMarket({ fixtureId }));
  await store(service.database.connection, ...markets);
}

function requests(path: string): { status: number }[] {
  const lines = service.logged.map(
    (line) => JSON.parse(line) as { route?: string; status: number },
  );
  return lines.filter(({ route }) => route?.startsWith(path));
}

describe('the package', () => {
  it('holds what it should and nothing else', async () => {
    const sources = await readdir('clients/typescript/src');
    const built = sources.flatMap((name) => {
      const stem = name.replace(/\.ts$/, '');
      return [`dist/${stem}.d.ts`, `dist/${stem}.js`];
    });
    const examples = await readdir('clients/typescript/examples');
    expect(packed.files).toEqual(
      [
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'package.json',
        ...built,
        ...examples.map((name) => `examples/${name}`),
      ].toSorted(),
    );
  });

  it('needs no other package, and leads to its program and its types', async () => {
    const manifest: { exports: { '.': object } } = JSON.parse(
      await readFile('clients/typescript/package.json', 'utf8'),
    );
    expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual([]);
    expect(manifest.exports['.']).toEqual({
      types: './dist/client.d.ts',
      default: './dist/client.js',
    });
  });

  it('has types for projects that know no exports of packages, and for those where undefined is a value', async () => {
    const program = `
      import { MarketsClient, type Market } from 'markets-odds-client';
      const client = new MarketsClient({ baseUrl: 'http://a', apiKey: 'k', fetch: undefined });
      export async function first(signal?: AbortSignal, take?: number): Promise<Market | undefined> {
        client.watch({ fixtureId: ['a'], provider: undefined }, { signal, pollMs: take }).close();
        return (await client.byFixture('a', { take }, { signal })).data[0];
      }
    `;
    const file = join(packed.folder, 'program.ts');
    await writeFile(file, program);
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipDefaultLibCheck'];
    const old = ['--module', 'commonjs', '--moduleResolution', 'node10'];
    const others = ['--noEmit', '--target', 'es2022', '--ignoreDeprecations', '6.0'];
    const compiler = join(process.cwd(), 'node_modules/typescript/bin/tsc');
    const args = [compiler, ...strict, ...old, ...others, file];
    const compiled = promisify(execFile)(process.execPath, args, { cwd: packed.folder });
    // What the compiler finds is on stdout.
    const { stdout } = await compiled.catch((failure: { stdout: string }) => failure);
    expect(stdout).toBe('');
  });

  it('has examples of at most thirty lines', async () => {
    for (const name of await readdir('clients/typescript/examples')) {
      const text = await readFile(`clients/typescript/examples/${name}`, 'utf8');
      expect({ name, lines: text.trimEnd().split('\n').length <= 30 }).toEqual({
        name,
        lines: true,
      });
    }
  });
});

/** The tags that a client of so small a memory sends when it asks for these fixtures. */
async function tagsOf(etagCacheEntries: number, fixtureIds: readonly string[]) {
  const tags: (string | null)[] = [];
  const small = new packed.exports.MarketsClient({
    baseUrl: service.url,
    apiKey: service.key,
    etagCacheEntries,
    fetch: (url, request) => {
      tags.push(new Headers(request?.headers).get('If-None-Match'));
      return fetch(url, request);
    },
  });
  for (const id of fixtureIds) await small.byFixture(id);
  return tags;
}

describe('a page', () => {
  it('comes by fixture and by event, filtered', async () => {
    const live = aMarket({ marketMoment: 'live' });
    const { fixtureId, eventId } = live;
    await store(service.database.connection, live, aMarket({ fixtureId, eventId }));
    const page = await client.byFixture(fixtureId, { marketMoment: 'live', take: 5 });
    expect(page.data).toMatchObject([{ marketId: live.marketId, runners: live.runners }]);
    expect(page.meta).toMatchObject({ take: 5, itemCount: 1 });
    expect(await client.byEvent(eventId, { marketMoment: 'live', take: 5 })).toEqual(page);
    const walked: unknown[] = [];
    for await (const market of client.markets({ eventId, marketMoment: 'live' }))
      walked.push(market);
    expect(walked).toEqual(page.data);
  });

  it('that did not change costs a 304 and is the same', async () => {
    const fixtureId = `${newId()}/ä b`;
    await storeMany(fixtureId, 3);
    const first = await client.byFixture(fixtureId);
    const before = requests('/v1/markets/market/fixture').length;
    expect(await client.byFixture(fixtureId)).toEqual(first);
    const [again] = requests('/v1/markets/market/fixture').slice(before);
    expect(again?.status).toBe(304);
  });

  it('that had to make room for another is asked for as if it were new', async () => {
    const [a, b] = [newId(), newId()];
    expect(await tagsOf(1, [a, a, b, a])).toEqual([null, expect.any(String), null, null]);
  });

  it('that was asked for lately makes no room for another', async () => {
    const [a, b, c] = [newId(), newId(), newId()];
    const tag = expect.any(String);
    expect(await tagsOf(2, [a, b, a, c, a])).toEqual([null, null, tag, null, tag]);
  });

  it('can be changed by the caller without harm to the next', async () => {
    const fixtureId = newId();
    await storeMany(fixtureId, 1);
    const first = await client.byFixture(fixtureId);
    first.data.length = 0;
    expect((await client.byFixture(fixtureId)).data).toHaveLength(1);
  });
});

it('changes since a cursor are only what is new', async () => {
  const { connection } = service.database;
  const [market, other] = [aMarket(), aMarket()];
  await store(connection, market, other);
  const query = { fixtureId: [market.fixtureId, other.fixtureId], marketStatus: 'OPEN' };
  const { groups, cursor } = await client.changes(query);
  expect(groups.map(({ changed }) => changed.length)).toEqual([1, 1]);
  expect((await client.changes({ ...query, since: cursor })).groups).toEqual([]);

  await connection
    .collection('markets')
    .updateOne({ marketId: other.marketId }, { $set: { name: 'new' } });
  let news: Awaited<ReturnType<typeof client.changes>> | undefined;
  await until(async () => {
    news = await client.changes({ ...query, since: cursor });
    return news.groups.length > 0;
  });
  const { fixtureId } = other;
  expect(news?.groups).toMatchObject([{ fixtureId, reset: false, changed: [{ name: 'new' }] }]);
  expect(news?.ageMs).toBeLessThan(2_000);
});

it('an id that can not be sent is told at once, not asked for as another', async () => {
  const fixtureId = 'half a pair \ud800';
  await expect(client.byFixture(fixtureId)).rejects.toThrow(URIError);
  await expect(client.changes({ fixtureId })).rejects.toThrow(URIError);
  const watch = client.watch({ fixtureId })[Symbol.asyncIterator]();
  await expect(watch.next()).rejects.toThrow(URIError);
});

it.each(['', '.', '..'])('an id that no path can hold is told at once: %j', async (id) => {
  await expect(client.byFixture(id)).rejects.toThrow(TypeError);
  await expect(client.byEvent(id)).rejects.toThrow(TypeError);
});

it.each([null, {}, [null], [undefined], ['OPEN', null]])(
  'a filter that is no text is told at once, since without it all markets would come: %j',
  async (marketStatus) => {
    const query = { marketStatus } as unknown as Filters;
    const message = 'marketStatus must be text or a number';
    await expect(client.byFixture(newId(), query)).rejects.toThrow(message);
    await expect(client.changes({ fixtureId: newId(), ...query })).rejects.toThrow(message);
    const watch = client.watch({ fixtureId: newId(), ...query });
    await expect(watch[Symbol.asyncIterator]().next()).rejects.toThrow(message);
    expect([watch.status, watch.failure?.message]).toEqual(['closed', message]);
  },
);

it('a filter that is an empty list is told at once, since without it all markets would come', async () => {
  const fixtureId = newId();
  const message = 'marketType is an empty list: leave it out for all';
  await expect(client.byFixture(fixtureId, { marketType: [] })).rejects.toThrow(message);
  const watch = client.watch({ fixtureId, marketType: [] });
  await expect(watch[Symbol.asyncIterator]().next()).rejects.toThrow(message);
  expect(watch.status).toBe('closed');
  // Of the ids, one list may be empty where the other is not.
  const { groups } = await client.changes({ fixtureId: [fixtureId], eventId: [] });
  expect(groups).toHaveLength(1);
});

it('an id that is missing is told at once, not taken for a word', async () => {
  const missing = undefined as unknown as string;
  for (const ask of [
    () => client.byFixture(missing),
    () => client.markets({ eventId: missing }).next(),
    async () => client.watch({ fixtureId: ['f', missing] }).close(),
  ]) {
    await expect(ask()).rejects.toThrow(TypeError);
  }
});

describe('all markets', () => {
  it('come once each, over all pages', async () => {
    const fixtureId = newId();
    await storeMany(fixtureId, 250);
    const ids: unknown[] = [];
    for await (const { _id } of client.markets({ fixtureId })) ids.push(_id);
    expect(ids).toHaveLength(250);
    expect(new Set(ids).size).toBe(250);
  });

  it('come of what was asked for, though the program uses its object for another question', async () => {
    const fixtureId = newId();
    await storeMany(fixtureId, 101);
    const query = { fixtureId };
    let count = 0;
    for await (const market of client.markets(query)) {
      expect(market.fixtureId).toBe(fixtureId);
      query.fixtureId = newId();
      count += 1;
    }
    expect(count).toBe(101);
  });

  it('none is missed when others are deleted during the walk', async () => {
    const fixtureId = newId();
    await storeMany(fixtureId, 150);
    const markets = service.database.connection.collection<{ fixtureId: string }>('markets');
    const seen = new Set<string>();
    for await (const { _id } of client.markets({ fixtureId })) {
      seen.add(_id);
      if (seen.size !== 50) continue;
      const first = await markets.find({ fixtureId }).sort({ _id: 1 }).limit(20).toArray();
      await markets.deleteMany({ _id: { $in: first.map((market) => market._id) } });
    }
    const left = await markets.find({ fixtureId }).toArray();
    expect(left.filter(({ _id }) => !seen.has(String(_id)))).toEqual([]);
  });

  it('none is missed when as many are added as are deleted during the walk', async () => {
    const fixtureId = newId();
    await storeMany(fixtureId, 150);
    const markets = service.database.connection.collection<{ fixtureId: string }>('markets');
    const before = await markets.find({ fixtureId }).sort({ _id: 1 }).toArray();
    const seen = new Set<string>();
    for await (const { _id } of client.markets({ fixtureId })) {
      seen.add(_id);
      if (seen.size !== 50) continue;
      await markets.deleteOne({ _id: before[0]?._id });
      await storeMany(fixtureId, 1);
    }
    expect(before.filter(({ _id }) => !seen.has(String(_id)))).toEqual([]);
  });
});

describe('a problem', () => {
  it('is an error with code, faults and request id', async () => {
    const failure = await client.byFixture('f', { take: 500 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(packed.exports.MarketsProblem);
    expect(failure).toMatchObject({
      code: 'invalid_request',
      status: 400,
      errors: [{ in: 'query', name: 'take', detail: expect.any(String) }],
      requestId: expect.stringMatching(/^[\w-]{36}$/),
      message: expect.stringContaining('take must be'),
    });
  });

  it('shows the key nowhere', async () => {
    const key = `mos_unknown00000_${'x'.repeat(38)}`;
    const stranger = new packed.exports.MarketsClient({ baseUrl: service.url, apiKey: key });
    const failure = await stranger.byFixture('f').catch((error: unknown) => error);
    const gone = new packed.exports.MarketsClient({ baseUrl: 'http://127.0.0.1:1', apiKey: key });
    const signal = AbortSignal.timeout(300);
    const lost = await gone.byFixture('f', {}, { signal }).catch((error: unknown) => error);
    const shown = inspect([failure, lost, stranger, gone], { depth: 9, showHidden: true });
    expect(failure).toMatchObject({ code: 'unauthorized' });
    expect(shown).not.toContain('xxxxxx');
    const bad = () =>
      new packed.exports.MarketsClient({ baseUrl: service.url, apiKey: 'a\nsecret' });
    expect(bad).toThrow(/^apiKey must be printable ASCII$/);
  });

  it.each(['', undefined])('says that the key is missing: %j', (apiKey) => {
    const options = { baseUrl: service.url, apiKey: apiKey as string };
    expect(() => new packed.exports.MarketsClient(options)).toThrow(/^apiKey is missing$/);
  });

  it('that passes is waited for: a limit', async () => {
    const { key } = await service.keys.create({ name: 'few', rateLimit: 1 });
    const few = new packed.exports.MarketsClient({ baseUrl: service.url, apiKey: key });
    await few.byFixture('f');
    const signal = AbortSignal.timeout(300);
    await expect(few.byFixture('g', {}, { signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });
});

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const EMPTY_PAGE = '{"data":[],"meta":{"itemCount":0,"hasNextPage":false}}';

describe('a server that fails first', () => {
  let server: Server;
  let answers: (() => Answer | 'cut' | 'half')[];
  let keys: unknown[] = [];
  let url: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      keys.push([request.headers['x-api-key'], request.url]);
      const answer = answers.shift()?.() ?? { status: 200 };
      if (answer === 'cut') return void request.socket.destroy();
      if (answer === 'half') {
        response.setHeader('Content-Type', 'application/json');
        return void response.write('{', () => request.socket.destroy());
      }
      response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers });
      return void response.end(answer.body ?? EMPTY_PAGE);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is asked again after Retry-After and after a lost connection', async () => {
    keys = [];
    answers = [() => 'cut', () => ({ status: 503, headers: { 'Retry-After': '1' } })];
    const retrying = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
    const began = performance.now();
    expect((await retrying.byFixture('f')).data).toEqual([]);
    expect(performance.now() - began).toBeGreaterThan(1_000);
    expect(keys).toEqual(Array.from({ length: 3 }, () => ['k', '/v1/markets/market/fixture/f']));
  });

  it('is not followed to another place, where the key would come along: that is told at once', async () => {
    keys = [];
    const moved = () => ({ status: 302, headers: { Location: `${url}/elsewhere` } });
    answers = [moved, moved];
    const moving = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
    const told = {
      name: 'MarketsProblem',
      status: 302,
      message: expect.stringContaining('baseUrl'),
    };
    await expect(moving.byFixture('f')).rejects.toMatchObject(told);
    await expect(
      moving.watch({ fixtureId: 'f' })[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject(told);
    expect(keys.map((each) => (each as unknown[])[1])).toEqual([
      '/v1/markets/market/fixture/f',
      '/v1/markets/stream?fixtureId=f',
    ]);
  });

  it('is not asked again at once when it asks for more patience than a timer has', async () => {
    keys = [];
    const busy = { status: 503, headers: { 'Retry-After': '3000000' } };
    answers = [() => busy, () => busy];
    const waiting = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
    const asked = waiting.byFixture('f', {}, { signal: AbortSignal.timeout(500) });
    await expect(asked).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(keys).toHaveLength(1);
  });

  it('is asked again as late as the date in Retry-After', async () => {
    const date = new Date(Date.now() + 3_000).toUTCString();
    answers = [() => ({ status: 503, headers: { 'Retry-After': date } })];
    const retrying = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
    await retrying.byFixture('f');
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(date));
  });

  it('has the name of its request told, though it says nothing else', async () => {
    answers = [() => ({ status: 500, headers: { 'X-Request-Id': 'r-1' }, body: '{}' })];
    const failing = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
    await expect(failing.byFixture('f')).rejects.toMatchObject({
      code: 'unknown',
      status: 500,
      requestId: 'r-1',
    });
  });

  it('does not bring the key into an error by sending it back', async () => {
    const apiKey = 'mos_secret';
    const body = JSON.stringify({ detail: `bad ${apiKey}`, errors: [{ detail: apiKey }] });
    const headers = { 'Content-Type': 'application/problem+json' };
    answers = [() => ({ status: 400, headers, body })];
    const refused = new packed.exports.MarketsClient({ baseUrl: url, apiKey });
    const error: unknown = await refused.byFixture('f').catch((failure: unknown) => failure);
    expect(inspect(error)).toMatch(/MarketsProblem: bad/);
    expect(inspect(error)).not.toContain(apiKey);
  });

  it('is asked again when the line breaks in the middle of its answer', async () => {
    answers = [() => 'half'];
    const retrying = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
    expect((await retrying.byFixture('f')).data).toEqual([]);
  });

  it.each(['null', '{"data":5}', '{'])(
    'is asked again after an answer that is none: %s',
    async (body) => {
      answers = [() => ({ status: 200, body })];
      const retrying = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
      expect((await retrying.byFixture('f')).data).toEqual([]);
    },
  );

  it.each([200, 429, 502, 521])(
    'is asked again after a page of somebody else, with %i',
    async (status) => {
      keys = [];
      answers = [() => ({ status, body: '<html>', headers: { 'Content-Type': 'text/html' } })];
      const retrying = new packed.exports.MarketsClient({ baseUrl: url, apiKey: 'k' });
      expect((await retrying.byFixture('f')).data).toEqual([]);
      expect(keys).toHaveLength(2);
    },
  );
});

it.each([
  [
    'compare-providers.js',
    /^Home 1\.9 Southbook\nDraw 3\.4 Northbook\n(.*\n)*margin -?\d+\.\d %\n$/,
  ],
  ['poll-cheaply.js', /^2 markets; Match Odds: 1\.85\n/],
])('example %s works', async (name, printed) => {
  const fixtureId = newId();
  const live = { fixtureId, marketMoment: 'live' as const };
  const { runners: _, ...withoutRunners } = aMarket({ fixtureId });
  await store(
    service.database.connection,
    aMarket(live),
    aMarket({ ...live, provider: 'Southbook' }),
    aMarket({ fixtureId, provider: 'Northbook' }),
    aMarket({ fixtureId, provider: 'Southbook', runners: [aRunner({ price: 1.9 })] }),
    withoutRunners,
  );
  const { url, key } = service;
  const env = { MARKETS_URL: url, MARKETS_KEY: key, FIXTURE: fixtureId, SECONDS: '3' };
  expect(await packed.runExample(name, env)).toMatch(printed);
});

it('the README shows what an example prints on the demo markets', async () => {
  const fixtureId = 'demo-fixture-1';
  const ofFixture = demoMarkets().filter((market) => market.fixtureId === fixtureId);
  await store(service.database.connection, ...ofFixture);
  const env = { MARKETS_URL: service.url, MARKETS_KEY: service.key, FIXTURE: fixtureId };
  const printed = await packed.runExample('compare-providers.js', env);
  expect(await readFile('clients/typescript/README.md', 'utf8')).toContain(
    `$ node examples/compare-providers.js\n${printed}`,
  );
});
