import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UnderlyingSource } from 'node:stream/web';
import { setTimeout as delay } from 'node:timers/promises';
import { MarketsClient, type Scope } from '../clients/typescript/src/client.js';
import { hedge } from '../clients/typescript/src/hedge.js';
import { readText, streamEvents } from '../clients/typescript/src/line.js';
import { ConnectionLost, MarketsProblem } from '../clients/typescript/src/problem.js';
import { readEvents } from '../clients/typescript/src/server-sent-events.js';
import type { Transport } from '../clients/typescript/src/transport.js';
import { sleep, waitMs } from '../clients/typescript/src/waiting.js';
import { WatchEvents } from '../clients/typescript/src/watch-events.js';
import { WatchState } from '../clients/typescript/src/watch-state.js';
import { Watch } from '../clients/typescript/src/watch.js';
import { PROBLEMS } from '../src/http/problem-codes.js';
import { filterOf, SCOPE_FIELDS } from '../src/markets/scope.js';
import { Random } from './random.js';
import { until } from './until.js';

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

function refused(code: string, headers: Record<string, string> = {}): Promise<MarketsProblem> {
  const type = { 'Content-Type': 'application/problem+json' };
  const init = { status: 429, headers: { ...type, ...headers } };
  return MarketsProblem.of(new Response(JSON.stringify({ code }), init), 'key');
}

/** The answer of `/changes` when nothing is new. */
const nothingNew = async () => new Response('{"data":[],"meta":{"cursor":"c","ageMs":5}}');

/** A line where no stream can be had, and everything else is answered so. */
function withoutStreams(answer: () => Promise<Response>): Transport {
  return {
    url: (path: string) => path,
    open: async (url: string) => {
      if (url.endsWith('stream')) throw await refused('changes_unavailable');
      return answer();
    },
  } as unknown as Transport;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

function streaming(source: UnderlyingSource<Uint8Array>): Response {
  const headers = { 'Content-Type': 'text/event-stream' };
  return new Response(new ReadableStream(source), { headers });
}

/** A stream that says some times that its client is current, and is cut after a while. */
function streamThatIsCut(timesCurrent: number, afterMs: number): Response {
  return streaming({
    start(sender) {
      for (let count = 0; count < timesCurrent; count += 1)
        sender.enqueue(bytesOf('event: current\nid: c\ndata: {}\n\n'));
      setTimeout(() => sender.close(), afterMs);
    },
  });
}

function eventsOf(answer: Response) {
  const transport = { open: async () => answer } as unknown as Transport;
  return streamEvents(transport, 'http://a', new AbortController().signal);
}

const clientOf = (fetch: typeof globalThis.fetch) =>
  new MarketsClient({ baseUrl: 'http://a', apiKey: 'k', fetch });

it.each(['localhost:3000', 'ftp://a', 'a', 'http://u@a', 'http://:p@a', 'http://a?b'])(
  'a client for %s is refused at once',
  (baseUrl) => {
    expect(() => new MarketsClient({ baseUrl, apiKey: 'k' })).toThrow(/^baseUrl must be /);
  },
);

it.each([
  ['http://a', 'http://a/v1/markets/market/fixture/f'],
  ['https://a.example/odds', 'https://a.example/odds/v1/markets/market/fixture/f'],
  ['https://a.example/odds//', 'https://a.example/odds/v1/markets/market/fixture/f'],
])('a client for %s asks below it', async (baseUrl, url) => {
  const asked: unknown[] = [];
  const fetch: typeof globalThis.fetch = async (given) => {
    asked.push(given);
    const headers = { 'Content-Type': 'application/json' };
    return new Response('{"data":[]}', { headers });
  };
  await new MarketsClient({ baseUrl, apiKey: 'k', fetch }).byFixture('f');
  expect(asked).toEqual([url]);
});

it("a client asks past a browser's own cache, and sends no cookies", async () => {
  let options: unknown;
  const client = clientOf(async (_url, request) => {
    options = request;
    return new Response('{"data":[]}', { headers: { 'Content-Type': 'application/json' } });
  });
  await client.byFixture('f');
  expect(options).toMatchObject({ cache: 'no-store', credentials: 'omit', redirect: 'manual' });
});

it("a client calls fetch by itself: a browser's refuses to be another object's", async () => {
  const headers = { 'Content-Type': 'application/json' };
  const fetch = jest.fn(async () => new Response('{"data":[]}', { headers }));
  await clientOf(fetch).byFixture('f');
  expect(fetch.mock.contexts).toEqual([undefined]);
});

it('a client that is told nothing else remembers 500 answers', async () => {
  const tags: (string | null)[] = [];
  const client = clientOf(async (_url, request) => {
    tags.push(new Headers(request?.headers).get('If-None-Match'));
    const headers = { 'Content-Type': 'application/json', ETag: '"e"' };
    return new Response('{"data":[]}', { headers });
  });
  const others = Array.from({ length: 499 }, (_, index) => `f${index}`);
  for (const id of ['first', ...others, 'first', 'another', 'f0', 'first'])
    await client.byFixture(id);
  expect(tags.slice(-4)).toEqual(['"e"', null, null, '"e"']);
});

it.each<[what: string, call: (client: MarketsClient, signal: AbortSignal) => Promise<unknown>]>([
  ['a page', (client, signal) => client.byFixture('f', {}, { signal })],
  ['a page of an event', (client, signal) => client.byEvent('e', {}, { signal })],
  ['all markets', (client, signal) => client.markets({ fixtureId: 'f' }, { signal }).next()],
  ['changes', (client, signal) => client.changes({ fixtureId: 'f' }, { signal })],
])('%s: who asks can end it', async (_what, call) => {
  const caller = new AbortController();
  const client = clientOf(() => {
    caller.abort(new Error('enough'));
    return new Promise((_, reject) => setTimeout(reject, 50, new ConnectionLost('too late')));
  });
  await expect(call(client, caller.signal)).rejects.toThrow('enough');
});

it('an answer of somebody else is not read, and holds no connection', async () => {
  const cancel = jest.fn<() => void>();
  const client = clientOf(
    async () => new Response(new ReadableStream({ cancel }), { status: 500 }),
  );
  await expect(client.byFixture('f')).rejects.toMatchObject({ code: 'unknown', status: 500 });
  expect(cancel).toHaveBeenCalledTimes(1);
});

it('a problem that is cut is told by its status', async () => {
  const headers = { 'Content-Type': 'application/problem+json' };
  const body = new ReadableStream({ start: (cut) => cut.error(new TypeError('terminated')) });
  const client = clientOf(async () => new Response(body, { status: 403, headers }));
  await expect(client.byFixture('f')).rejects.toMatchObject({ code: 'unknown', status: 403 });
});

it('a redirect is told as one in a browser too, which does not tell its status', async () => {
  const answer = Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' });
  const told = { status: 0, message: expect.stringContaining('baseUrl') };
  await expect(clientOf(async () => answer).byFixture('f')).rejects.toMatchObject(told);
});

it.each(['{"take":["bad"]}', '[null,{}]', '"bad"'])(
  'a problem of somebody else is told as one, though its errors are %s',
  async (errors) => {
    const headers = { 'Content-Type': 'application/problem+json' };
    const body = `{"detail":"Refused.","errors":${errors}}`;
    const client = clientOf(async () => new Response(body, { status: 403, headers }));
    const refusal = { name: 'MarketsProblem', message: 'Refused.', status: 403, errors: [] };
    await expect(client.byFixture('f')).rejects.toMatchObject(refusal);
    const watch = client.watch({ fixtureId: 'f' });
    await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject(refusal);
  },
);

it('a problem of somebody else is told as one, though there is nothing in it', async () => {
  const headers = { 'Content-Type': 'application/problem+json' };
  const client = clientOf(async () => new Response('null', { status: 403, headers }));
  await expect(client.byFixture('f')).rejects.toMatchObject({ code: 'unknown', status: 403 });
});

it('just the problems that pass by themselves are worth another try', async () => {
  const codes = Object.keys(PROBLEMS);
  const problems = await Promise.all(codes.map((code) => refused(code)));
  expect(codes.filter((_code, index) => problems[index]?.isPassing)).toEqual([
    'rate_limited',
    'too_many_streams',
    'database_unavailable',
    'overloaded',
    'database_timeout',
  ]);
});

describe('tries beside one another', () => {
  it('go on when one finds the streams of the key taken by another of them', async () => {
    let tries = 0;
    const start = async () => {
      tries += 1;
      if (tries > 1) throw await refused('too_many_streams');
      return delay(100).then(() => 'won');
    };
    const { signal } = new AbortController();
    expect(await hedge(start, { everyMs: 20, eachMs: 60_000, signal })).toBe('won');
    expect(tries).toBeGreaterThan(1);
  });

  it('end when the last finds no stream left', async () => {
    const { signal } = new AbortController();
    const lost = hedge(
      async () => {
        throw await refused('too_many_streams');
      },
      { everyMs: 60_000, eachMs: 60_000, signal },
    );
    await expect(lost).rejects.toMatchObject({ code: 'too_many_streams' });
  });

  it('end when one has won: the others hold no connection', async () => {
    const tries: AbortSignal[] = [];
    const start = (each: AbortSignal) => {
      tries.push(each);
      return tries.length === 2 ? Promise.resolve('won') : once(each, 'abort').then(() => 'lost');
    };
    const { signal } = new AbortController();
    expect(await hedge(start, { everyMs: 5, eachMs: 60_000, signal })).toBe('won');
    expect(tries.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('are none where nobody wants the answer any more', async () => {
    const start = jest.fn(() => Promise.resolve('won'));
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(hedge(start, { everyMs: 5, eachMs: 60_000, signal })).rejects.toThrow('enough');
    expect(start).not.toHaveBeenCalled();
  });

  it('leave the one that has won alone, however long its answer goes on', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const { signal } = new AbortController();
    const options = { everyMs: 1_000, eachMs: 5_000, signal };
    const won = await hedge((each) => Promise.resolve(each), options);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(won.aborted).toBe(false);
  });

  it('leave the one that has won alone, however they end', async () => {
    const refusal = await MarketsProblem.of(new Response('', { status: 429 }), 'key');
    const tries: AbortSignal[] = [];
    const start = (each: AbortSignal) => {
      tries.push(each);
      if (tries.length === 2) return Promise.resolve('won');
      return new Promise<string>((_, reject) => {
        each.addEventListener('abort', () => reject(refusal));
      });
    };
    const { signal } = new AbortController();
    await hedge(start, { everyMs: 5, eachMs: 60_000, signal });
    await delay(0);
    expect(tries.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('have no timer left when they are refused, which would keep a process alive', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const { signal } = new AbortController();
    const options = { everyMs: 1_000, eachMs: 5_000, signal };
    const lost = hedge(async () => Promise.reject(await refused('unauthorized')), options);
    await expect(lost).rejects.toMatchObject({ code: 'unauthorized' });
    await jest.advanceTimersByTimeAsync(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a watch whose line is dead', () => {
  it('tries anew every 0.8 s, by no more connections than a browser has to a host', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const triedAt: number[] = [];
    let open = 0;
    let mostOpen = 0;
    const transport = {
      url: () => 'http://a',
      open: (_url: string, each: AbortSignal) => {
        triedAt.push(performance.now());
        mostOpen = Math.max(mostOpen, ++open);
        return new Promise((_, reject) => {
          each.addEventListener('abort', () => {
            open -= 1;
            reject(new ConnectionLost(each.reason));
          });
        });
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(60_000);
    watch.close();
    const pauses = triedAt.slice(1).map((at, index) => at - (triedAt[index] ?? 0));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(800);
    expect(mostOpen).toBeLessThanOrEqual(6);
  });

  it('tries at once where it is refused, then ever less often, to some 5 s', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const triedAt: number[] = [];
    const transport = {
      url: () => 'http://a',
      open: () => {
        triedAt.push(performance.now());
        return Promise.reject(new ConnectionLost('refused'));
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(120_000);
    watch.close();
    const pauses = triedAt.slice(1).map((at, index) => at - (triedAt[index] ?? 0));
    expect(pauses[0]).toBeLessThanOrEqual(500);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(6_250);
    expect(Math.min(...pauses.slice(5))).toBeGreaterThanOrEqual(5_000);
    expect(new Set(pauses).size).toBeGreaterThan(10);
  });
});

describe('a watch that is refused', () => {
  it('asks where there is too much to do for streams, no sooner than it may, and tries these again', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const asked: string[] = [];
    const transport = {
      url: (path: string) => path,
      open: async (url: string) => {
        asked.push(url);
        throw await refused('overloaded', { 'Retry-After': '1' });
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(29_000);
    watch.close();
    expect(asked.slice(0, 3)).toEqual([
      'v1/markets/stream',
      'v1/markets/changes',
      'v1/markets/changes',
    ]);
    expect(asked.filter((url) => url === 'v1/markets/stream')).toHaveLength(3);
    expect(asked.length).toBeLessThanOrEqual(30);
  });
});

describe('a watch', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  });

  it('asks for its ids with its filters, and how long to gather', () => {
    const asked: unknown[] = [];
    const client = clientOf((url, request) => {
      asked.push(url, new Headers(request?.headers).get('Accept'));
      return new Promise(() => undefined);
    });
    const query = { fixtureId: ['f', 'g'], provider: 'Northbook' };
    client.watch(query, { conflateMs: 500 }).close();
    expect(asked).toEqual([
      'http://a/v1/markets/stream?fixtureId=f&fixtureId=g&provider=Northbook&conflateMs=500',
      'text/event-stream',
    ]);
  });

  it('is tried at once after each cut of a stream that went on, however many there were', async () => {
    const triedAt: number[] = [];
    const transport = {
      url: () => 'http://a',
      open: async () => {
        triedAt.push(performance.now());
        return streamThatIsCut(2, 1_000);
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(60_000);
    watch.close();
    const pauses = triedAt.slice(1).map((at, index) => at - (triedAt[index] ?? 0) - 1_000);
    expect(pauses.length).toBeGreaterThan(30);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(500);
    expect(new Set(pauses).size).toBeGreaterThan(10);
  });

  it('streams again soon after a line was dead, though it had to ask before', async () => {
    let streams = 0;
    const transport = {
      url: (path: string) => path,
      open: async (url: string) => {
        if (!url.endsWith('stream')) return new Response('{"data":[],"meta":{"cursor":"c"}}');
        streams += 1;
        // Every other one goes on for a while.
        return streams % 2 === 0 ? streamThatIsCut(2, 1_000) : streamThatIsCut(0, 0);
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(10_000);
    watch.close();
    // Its pauses are of half a second at most: none is as long as that between two questions.
    expect(streams).toBeGreaterThan(8);
  });

  it('has to ask where no more than the first word of a stream comes through', async () => {
    const asked: string[] = [];
    const transport = {
      url: (path: string) => path,
      open: async (url: string) => {
        asked.push(url);
        if (!url.endsWith('stream')) return new Response('{"data":[],"meta":{"cursor":"c"}}');
        return streamThatIsCut(1, 1_000);
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(30_000);
    watch.close();
    // The first answer shows that the line is not dead, for which streams are tried again.
    expect(asked.filter((url) => url.endsWith('stream'))).toHaveLength(2);
    expect(asked.length).toBeGreaterThan(10);
  });

  it('has to ask where nothing of a stream comes through', async () => {
    const transport = {
      url: (path: string) => path,
      open: (url: string) =>
        url.endsWith('stream') ? new Promise<Response>(() => undefined) : nothingNew(),
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(6_000);
    const { status } = watch;
    watch.close();
    expect(status).toBe('current');
  });

  it('that nobody wants any more never begins', async () => {
    const fetch = jest.fn(() => new Promise<Response>(() => undefined));
    const watch = clientOf(fetch).watch({ fixtureId: 'f' }, { signal: AbortSignal.abort() });
    expect(watch.status).toBe('closed');
    expect(await watch[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
    expect(fetch).not.toHaveBeenCalled();
  });

  it('that has never been current does not tell how late it is', async () => {
    const fetch = jest.fn(() => Promise.reject<Response>(new Error('refused')));
    const watch = clientOf(fetch).watch({ fixtureId: 'f' });
    const next = watch[Symbol.asyncIterator]().next();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(fetch.mock.calls.length).toBeGreaterThan(1);
    expect(watch.status).toBe('connecting');
    watch.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('says why it has never been current, and nothing of it when it is', async () => {
    let isAway = true;
    const transport = {
      url: (path: string) => path,
      open: async (url: string) => {
        if (isAway) throw await refused('rate_limited', { 'Retry-After': '2' });
        if (url.endsWith('stream')) throw await refused('changes_unavailable');
        return nothingNew();
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    expect(watch.failure).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(watch).toMatchObject({ status: 'connecting', failure: { code: 'rate_limited' } });
    isAway = false;
    await jest.advanceTimersByTimeAsync(10_000);
    const { status, failure } = watch;
    watch.close();
    expect({ status, failure }).toEqual({ status: 'current', failure: undefined });
  });

  it('that is closed has no timer left, which would keep a process alive', async () => {
    const current = bytesOf('event: current\nid: c\ndata: {}\n\n');
    const { signal } = new AbortController();
    const client = clientOf(async () => streaming({ start: (sender) => sender.enqueue(current) }));
    const watch = client.watch({ fixtureId: 'f' }, { signal });
    for await (const { type } of watch) if (type === 'current') break;
    expect(watch.status).toBe('closed');
    await jest.advanceTimersByTimeAsync(0);
    expect(jest.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(watch.failure).toBeUndefined();
    expect(await watch[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  });

  it('is late when the service says so, and comes back after an end no sooner than it says', async () => {
    const triedAt: number[] = [];
    let line: ReadableStreamDefaultController<Uint8Array> | undefined;
    const transport = {
      url: () => 'http://a',
      open: async () => {
        triedAt.push(performance.now());
        return streaming({ start: (sender) => void (line = sender) });
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    const statuses: string[] = [];
    for (const event of [
      'retry: 1730\nevent: current\nid: c\ndata: {"ageMs":1}\n\n',
      'event: late\ndata: {"ageMs":3000}\n\n',
      'event: of a later version\ndata: not JSON\n\n',
      'event: current\nid: c\ndata: {"ageMs":1}\n\n',
      'event: end\ndata: {"reason":"draining"}\n\n',
    ]) {
      await jest.advanceTimersByTimeAsync(100);
      line?.enqueue(bytesOf(event));
      await jest.advanceTimersByTimeAsync(0);
      statuses.push(watch.status);
    }
    expect(statuses).toEqual(['current', 'late', 'late', 'current', 'current']);
    await jest.advanceTimersByTimeAsync(2_000);
    watch.close();
    expect(triedAt.map((at) => at - (triedAt[0] ?? 0))).toEqual([0, 500 + 1_730]);
  });

  it('comes back a second after an end that does not say when', async () => {
    const end = 'event: current\nid: c\ndata: {}\n\nevent: end\ndata: {"reason":"age"}\n\n';
    const fetch = jest.fn(async () =>
      streaming({
        start(sender) {
          sender.enqueue(bytesOf(end));
          sender.close();
        },
      }),
    );
    const watch = clientOf(fetch).watch({ fixtureId: 'f' });
    await jest.advanceTimersByTimeAsync(3_500);
    watch.close();
    expect(fetch).toHaveBeenCalledTimes(4);
  });

  it.each([
    [{}, 2_000],
    [{ pollMs: 5_000 }, 5_000],
  ])('that has to ask, with %j, tries a stream again once a minute', async (options, everyMs) => {
    const asked: string[] = [];
    const cursors: unknown[] = [];
    const transport = {
      url: (path: string, { since }: { since?: string }) => {
        cursors.push(since);
        return path;
      },
      open: async (url: string) => {
        asked.push(url);
        if (url.endsWith('stream')) throw await refused('changes_unavailable');
        return nothingNew();
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' }, options);
    await jest.advanceTimersByTimeAsync(100_000);
    watch.close();
    expect(asked.filter((url) => url.endsWith('stream'))).toHaveLength(2);
    expect(asked.length).toBeGreaterThan(100_000 / everyMs - 2);
    expect(asked.length).toBeLessThan(100_000 / everyMs + 5);
    expect(cursors.slice(0, 4)).toEqual([undefined, undefined, 'c', 'c']);
  });

  it('that has to ask does not ask to gather, which streams alone can', async () => {
    const asked: unknown[] = [];
    const transport = {
      ...withoutStreams(nothingNew),
      url: (path: string, { conflateMs }: { conflateMs?: number }) => {
        asked.push([path, conflateMs]);
        return path;
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' }, { conflateMs: 500 });
    await jest.advanceTimersByTimeAsync(1_000);
    watch.close();
    expect(asked).toEqual([
      ['v1/markets/stream', 500],
      ['v1/markets/changes', undefined],
    ]);
  });

  it('that has to ask, and asks seldom, is current all the while', async () => {
    const transport = withoutStreams(nothingNew);
    const watch = new Watch(transport, { fixtureId: 'f' }, { pollMs: 30_000 });
    await jest.advanceTimersByTimeAsync(15_000);
    const { status } = watch;
    watch.close();
    expect(status).toBe('current');
  });

  it('that has to ask is answered again soon after a failure, however long it has been asking', async () => {
    const askedAt: number[] = [];
    const transport = withoutStreams(async () => {
      askedAt.push(performance.now());
      if (askedAt.length === 9) throw await refused('database_unavailable');
      return nothingNew();
    });
    const watch = new Watch(transport, { fixtureId: 'f' }, { pollMs: 1_000 });
    await jest.advanceTimersByTimeAsync(20_000);
    watch.close();
    const [failedAt = 0, nextAt = Infinity] = askedAt.slice(8);
    expect(nextAt - failedAt).toBeLessThan(1_000);
  });

  it('that has to ask says of an answer that it may be as old as the question', async () => {
    const transport = withoutStreams(async () => {
      const data = [{ fixtureId: 'f', reset: true, changed: [], removed: [] }];
      const answer = JSON.stringify({ data, meta: { cursor: 'c', ageMs: 5 } });
      await new Promise((resolve) => setTimeout(resolve, 700));
      return new Response(answer);
    });
    const watch = new Watch(transport, { fixtureId: 'f' });
    const told = (async () => {
      for await (const event of watch) if (event.type === 'current') return event.ageMs;
      return undefined;
    })();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await told).toBe(705);
    expect(watch.ageMs).toBeCloseTo(1_005);
  });

  it('that has to ask takes an answer for no older than the try that was answered', async () => {
    let tries = 0;
    const transport = withoutStreams(() =>
      (tries += 1) < 10 ? new Promise<Response>(() => undefined) : nothingNew(),
    );
    const watch = new Watch(transport, { fixtureId: 'f' });
    const events = watch[Symbol.asyncIterator]();
    await jest.advanceTimersByTimeAsync(9_000);
    watch.close();
    expect((await events.next()).value).toEqual({ type: 'current', ageMs: 5 });
  });

  it('that has to ask is late when its questions are not answered any more', async () => {
    let isDead = false;
    const transport = {
      url: (path: string) => path,
      open: async (url: string) => {
        if (isDead) return new Promise<Response>(() => undefined);
        if (url.endsWith('stream')) throw await refused('changes_unavailable');
        return nothingNew();
      },
    } as unknown as Transport;
    const watch = new Watch(transport, { fixtureId: 'f' });
    const events = watch[Symbol.asyncIterator]();
    await jest.advanceTimersByTimeAsync(1_000);
    expect((await events.next()).value).toMatchObject({ type: 'current' });
    isDead = true;
    await jest.advanceTimersByTimeAsync(13_000);
    expect(watch.status).not.toBe('current');
    expect((await events.next()).value).toMatchObject({ type: 'late', ageMs: expect.any(Number) });
    watch.close();
  });

  it('that had to ask again stays current', async () => {
    let isRefused = true;
    const transport = withoutStreams(async () => {
      if (!isRefused) return nothingNew();
      isRefused = false;
      throw await refused('rate_limited');
    });
    const watch = new Watch(transport, { fixtureId: 'f' });
    const types: string[] = [];
    const reading = (async () => {
      for await (const { type } of watch) types.push(type);
    })();
    await jest.advanceTimersByTimeAsync(15_000);
    watch.close();
    await reading;
    expect(new Set(types)).toEqual(new Set(['current']));
  });
});

describe('a look-up', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  });

  it('that is refused again and again fails within 30 s', async () => {
    const fetch = jest.fn(async () => new Response('', { status: 503 }));
    const client = clientOf(fetch);
    let end: unknown;
    const call = client.byFixture('f').catch((failure: unknown) => {
      end = failure;
    });
    await jest.advanceTimersByTimeAsync(20_000);
    expect(end).toBeUndefined();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(end).toMatchObject({ name: 'MarketsProblem', status: 503 });
    // Ever less often.
    expect(fetch.mock.calls.length).toBeLessThan(15);
    await call;
  });

  it('fails within 30 s though the clock is set back meanwhile', async () => {
    const client = clientOf(async () => new Response('', { status: 503 }));
    const call = client.byFixture('f').catch((failure: unknown) => failure);
    jest.setSystemTime(Date.now() - 3_600_000);
    await jest.advanceTimersByTimeAsync(30_000);
    expect(await Promise.race([call, Promise.resolve('still asking')])).toMatchObject({
      status: 503,
    });
  });

  it('that is not answered for 10 s is asked for anew, with a signal of the caller too', async () => {
    let tries = 0;
    const client = clientOf((_url, request) => {
      tries += 1;
      return new Promise((_, reject) => {
        request?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    });
    const caller = new AbortController();
    const call = client.byFixture('f', {}, { signal: caller.signal });
    await jest.advanceTimersByTimeAsync(9_900);
    expect(tries).toBe(1);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(tries).toBe(2);
    caller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  it('that is never answered says so, and not that the caller has aborted it', async () => {
    const client = clientOf(
      (_url, request) =>
        new Promise((_, reject) => {
          request?.signal?.addEventListener('abort', () => reject(request.signal?.reason));
        }),
    );
    const call = client.byFixture('f').catch((failure: unknown) => failure);
    await jest.advanceTimersByTimeAsync(45_000);
    expect(await call).toMatchObject({ name: 'ConnectionLost', cause: 'no answer' });
  });
});

/** Walks a list that changes before each answer. */
async function walk(listAt: (request: number) => readonly number[]): Promise<number[]> {
  let requests = 0;
  const client = clientOf(async (url) => {
    const { searchParams } = new URL(url instanceof Request ? url.url : url);
    const [page = 0, take = 0] = ['page', 'take'].map((name) => Number(searchParams.get(name)));
    const list = listAt((requests += 1));
    const data = list.slice((page - 1) * take, page * take).map((id) => ({ _id: String(id) }));
    const body = JSON.stringify({ data, meta: { hasNextPage: page * take < list.length } });
    return new Response(body, { headers: { 'Content-Type': 'application/json' } });
  });
  const ids: number[] = [];
  for await (const { _id } of client.markets({ fixtureId: 'f' })) ids.push(Number(_id));
  return ids;
}

describe('all markets', () => {
  const all = Array.from({ length: 450 }, (_, index) => index);

  it('are all given when one of them goes and comes back meanwhile', async () => {
    const few = all.slice(0, 150);
    const ids = await walk((request) => few.filter((id) => id !== 50 || request !== 2));
    expect(ids.toSorted((one, other) => one - other)).toEqual(few);
  });

  it('are all given that stay when so many go that the next page is empty', async () => {
    const staying = all.slice(100, 150);
    const ids = await walk((request) => (request === 1 ? all.slice(0, 150) : staying));
    expect(ids).toEqual(expect.arrayContaining(staying));
  });

  it('are given once each that stay, whatever goes and comes meanwhile', async () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = new Random(seed);
      const ids = await walk(() => all.filter((id) => id % 7 > 0 || random.next() < 0.5));
      const stayed = ids.filter((id) => id % 7 > 0).toSorted((one, other) => one - other);
      expect([seed, stayed]).toEqual([seed, all.filter((id) => id % 7 > 0)]);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});

describe('a wait', () => {
  it('is never shorter than the service asks, however long that is', async () => {
    const problem = await refused('rate_limited', { 'Retry-After': '60' });
    const waits = Array.from({ length: 5 }, () => waitMs(problem, 0));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(60_000);
    // All who were refused together do not come back together.
    expect(new Set(waits).size).toBe(waits.length);
  });

  it('is up to a quarter of a second longer, or of a long wait a quarter, so that clients spread', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const waits = ['0', '60'].map(async (seconds) =>
      waitMs(await refused('rate_limited', { 'Retry-After': seconds }), 0),
    );
    expect(await Promise.all(waits)).toEqual([250, 75_000]);
  });

  it('is as long as where the service asks for none, though what it asks for can not be read', async () => {
    const problem = await refused('rate_limited', { 'Retry-After': 'soon' });
    expect(waitMs(problem, 0)).toBeGreaterThanOrEqual(250);
  });

  it('that is ended has no timer left, which would keep a process alive', async () => {
    jest.useFakeTimers();
    const caller = new AbortController();
    const wait = sleep(60_000, caller.signal);
    caller.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is not below nothing, though the service has asked for a time that is past', async () => {
    const date = new Date(Date.now() - 60_000).toUTCString();
    const problem = await refused('rate_limited', { 'Retry-After': date });
    expect(problem.retryAfterMs).toBe(0);
    expect(waitMs(problem, 0)).toBeGreaterThanOrEqual(0);
  });

  it('longer than a timer can be is no short one', async () => {
    const giveUp = AbortSignal.timeout(50);
    for (const ms of [2 ** 31, Infinity]) {
      await expect(sleep(ms, giveUp)).rejects.toMatchObject({ name: 'TimeoutError' });
    }
  });
});

describe('a stream', () => {
  it('is none when somebody else answers with a page', async () => {
    const headers = { 'Content-Type': 'text/html' };
    const events = eventsOf(new Response('data: {}\n\n', { headers }));
    await expect(events.next()).rejects.toThrow(ConnectionLost);
  });

  it('lets its connection go when nobody wants more of it', async () => {
    const cancel = jest.fn<() => void>();
    const current = bytesOf('event: current\ndata: {}\n\n');
    const events = eventsOf(streaming({ start: (sender) => sender.enqueue(current), cancel }));
    await events.next();
    await events.return(undefined);
    expect(cancel).toHaveBeenCalledTimes(1);
  });

  it('is given up when nothing is heard of it for ten seconds', async () => {
    // What streams are made of goes on: only time is ours.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    let end: unknown;
    const current = bytesOf('event: current\ndata: {}\n\n');
    const events = eventsOf(streaming({ start: (sender) => sender.enqueue(current) }));
    expect((await events.next()).value).toMatchObject({ event: 'current' });
    const next = events.next().catch((failure: unknown) => {
      end = failure;
    });
    await jest.advanceTimersByTimeAsync(9_900);
    expect(end).toBeUndefined();
    await jest.advanceTimersByTimeAsync(200);
    expect(end).toMatchObject({ name: 'ConnectionLost' });
    await next;
  });
});

/** A text whose characters come in pieces. */
function byteByByte(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const byte of bytesOf(text)) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
}

it('characters of several bytes may come in pieces', async () => {
  const events: unknown[] = [];
  for await (const event of readEvents(byteByByte('data: "Höhe ⚽"\n\n'))) events.push(event);
  expect(events).toMatchObject([{ data: '"Höhe ⚽"' }]);
});

it('an event may hold any character that JSON may', async () => {
  const { value } = await readEvents(byteByByte('data: "a: \u2028b"\n\n')).next();
  expect(value).toMatchObject({ data: '"a: \u2028b"' });
});

it('events may come as any program writes them: with carriage returns, and data on several lines', async () => {
  const text = 'event: current\r\ndata: {\r\ndata: }\r\n\r\n';
  const { value } = await readEvents(byteByByte(text)).next();
  expect(value).toMatchObject({ event: 'current', data: '{\n}' });
});

it('an event without an id has none, whatever came before it', async () => {
  const ids: unknown[] = [];
  for await (const { id } of readEvents(byteByByte('id: c\ndata: 1\n\ndata: 2\n\n'))) ids.push(id);
  expect(ids).toEqual(['c', undefined]);
});

it('characters of several bytes may come in pieces in an answer to a watch that asks, too', async () => {
  const transport = { open: async () => new Response(byteByByte('"Höhe ⚽"')) };
  const { signal } = new AbortController();
  const { text } = await readText(transport as unknown as Transport, 'http://a', signal);
  expect(text).toBe('"Höhe ⚽"');
});

it('an answer to a watch that asks is given up when nothing of it comes', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const transport = { open: async () => new Response(new ReadableStream()) };
  const { signal } = new AbortController();
  let end: unknown;
  const text = readText(transport as unknown as Transport, 'http://a', signal);
  text.catch((failure: unknown) => (end = failure));
  await jest.advanceTimersByTimeAsync(5_000);
  expect(end).toMatchObject({ name: 'ConnectionLost' });
});

it('a wait leaves nothing behind at its signal', async () => {
  const { signal } = new AbortController();
  await sleep(1, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('a call that was answered leaves nothing behind at its signal', async () => {
  const { signal } = new AbortController();
  const headers = { 'Content-Type': 'application/json' };
  const client = clientOf(async () => new Response('{"data":[]}', { headers }));
  await client.byFixture('f', {}, { signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('a watch that asks leaves nothing behind at its signal, however often it is answered', async () => {
  const { signal } = new AbortController();
  const transport = { open: async () => new Response('{}') } as unknown as Transport;
  for (let asked = 0; asked < 3; asked += 1) await readText(transport, 'http://a', signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('a call that was answered has no timer left, which would keep a process alive', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const headers = { 'Content-Type': 'application/json' };
  const client = clientOf(async () => new Response('{"data":[]}', { headers }));
  await client.byFixture('f');
  expect(jest.getTimerCount()).toBe(0);
});

it('many watches and calls may share a signal, at which they leave nothing behind', async () => {
  const caller = new AbortController();
  const { signal } = caller;
  const client = clientOf(async () => new Response('', { status: 503 }));
  const many = Array.from({ length: 20 }, (_, index) => `f${index}`);
  const watches = many.map((fixtureId) => client.watch({ fixtureId }, { signal }));
  const calls = many.map((fixtureId) => client.byFixture(fixtureId, {}, { signal }));
  await delay(20);
  expect(getEventListeners(signal, 'abort').length).toBeLessThan(10);
  expect(followersOf(signal)).toEqual([]);
  caller.abort(new Error('enough'));
  for (const call of calls) await expect(call).rejects.toThrow('enough');
  expect(new Set(watches.map(({ status }) => status))).toEqual(new Set(['closed']));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

/** What AbortSignal.any() has made of a signal: Node 20 keeps that for as long as the signal. */
function followersOf(signal: AbortSignal): unknown[] {
  const names = Object.getOwnPropertySymbols(signal);
  const followers = names.find(({ description }) => description === 'kDependantSignals');
  return [...((followers && Reflect.get(signal, followers)) ?? [])];
}

it('a reset takes the place of news that were not taken yet', async () => {
  const events = new WatchEvents();
  for (const [reset, id] of [
    [false, 'before'],
    [true, 'after'],
  ] as const) {
    const group = { fixtureId: 'f', reset, changed: [{ _id: id }], removed: [] };
    events.groups([group]);
  }
  const { value } = await events.next();
  expect(value).toMatchObject({ reset: true, changed: [{ _id: 'after' }] });
});

it('news come before the word that they are all, and both before the failure that ends a watch', async () => {
  const events = new WatchEvents();
  events.standing({ type: 'current', ageMs: 1 });
  events.groups([{ fixtureId: 'f', reset: true, changed: [], removed: [] }]);
  events.end(new Error('refused'));
  expect((await events.next()).value).toMatchObject({ type: 'markets' });
  expect((await events.next()).value).toMatchObject({ type: 'current' });
  await expect(events.next()).rejects.toThrow('refused');
});

it('what ended a watch is told, though the watch is closed before that was taken', async () => {
  const events = new WatchEvents();
  events.end(new Error('refused'));
  events.end();
  await expect(events.next()).rejects.toThrow('refused');
});

it('a market that has changed and gone before it was taken has gone', async () => {
  const events = new WatchEvents();
  events.groups([{ fixtureId: 'f', reset: false, changed: [{ _id: 'a' }], removed: [] }]);
  events.groups([{ fixtureId: 'f', reset: false, changed: [], removed: ['a'] }]);
  const { value } = await events.next();
  expect(value).toMatchObject({ changed: [], removed: ['a'] });
});

it('markets that come and go leave nothing behind where nobody takes the events', async () => {
  const events = new WatchEvents();
  events.groups([{ fixtureId: 'f', reset: true, changed: [{ _id: 'a' }], removed: [] }]);
  for (const _id of ['b', 'c', 'd']) {
    events.groups([{ fixtureId: 'f', reset: false, changed: [{ _id }], removed: [] }]);
    events.groups([{ fixtureId: 'f', reset: false, changed: [], removed: [_id] }]);
  }
  const { value } = await events.next();
  expect(value).toMatchObject({ reset: true, changed: [{ _id: 'a' }], removed: [] });
});

it('groups are applied all or none, and what is removed is gone', () => {
  const state = new WatchState({ fixtureId: ['f', 'g'] });
  const { changed, removed } = { changed: [{ _id: 'a' }], removed: ['a'] };
  const good = { fixtureId: 'f', reset: true, changed, removed: [] };
  const bad: object[] = [
    { fixtureId: 'other' },
    { reset: undefined },
    { changed: [{}] },
    { removed: undefined },
  ];
  for (const part of bad)
    expect(() => state.apply([good, { ...good, ...part }])).toThrow(TypeError);
  expect(state.markets({ fixtureId: 'f' }).size).toBe(0);
  expect(() => state.markets({ fixtureId: 'other' })).toThrow(RangeError);
  state.apply([good, { ...good, fixtureId: 'g', removed }]);
  const sizes = ['f', 'g'].map((fixtureId) => state.markets({ fixtureId }).size);
  expect(sizes).toEqual([1, 0]);
});

/** A client whose look-ups find nothing, with the URLs that it asks for. */
function askedBy() {
  const asked: string[] = [];
  const client = clientOf(async (url) => {
    asked.push(url instanceof Request ? url.url : new URL(url).href);
    return Response.json({ data: [], meta: { hasNextPage: false } });
  });
  return { asked, client };
}

it('markets are those that were asked for, though the object names others by then', async () => {
  const { asked, client } = askedBy();
  const query = { fixtureId: 'f', provider: 'p' };
  const markets = client.markets(query);
  Object.assign(query, { fixtureId: 'other', provider: 'other' });
  await markets.next();
  expect(asked).toEqual([expect.stringContaining('/fixture/f?provider=p&')]);
});

it('a watch goes on with what it was called with, though the list names others by then', async () => {
  const asked: unknown[] = [];
  const client = clientOf(async (url) => {
    asked.push(url);
    throw new TypeError('cut');
  });
  const ids = ['f'];
  const watch = client.watch({ fixtureId: ids });
  ids.push('other');
  await until(() => asked.length > 1);
  watch.close();
  // By a stream first, then by a poll.
  const urls = ['stream', 'changes'].map((way) => `http://a/v1/markets/${way}?fixtureId=f`);
  expect(asked.slice(0, 2)).toEqual(urls);
});

it('an id beside the one in the path is asked for, so that the service refuses it', async () => {
  const { asked, client } = askedBy();
  await client.markets({ fixtureId: 'f', eventId: 'e' } as never).next();
  expect(asked).toEqual([expect.stringContaining('/fixture/f?eventId=e&')]);
});

it.each(SCOPE_FIELDS)('markets are kept by %s, as by each name that the service takes', (field) => {
  const scope = filterOf(`${field}:x`) as Scope;
  const state = new WatchState(scope);
  state.apply([{ ...scope, reset: true, changed: [{ _id: 'a' }], removed: [] }] as never);
  expect([...state.markets(scope).keys()]).toEqual(['a']);
});

it.each(['{"data":[{"fixtureId":"other"}]}', '{"data":'])(
  'what can not be applied is asked for anew as a whole: %s',
  async (news) => {
    const asked: (string | undefined)[] = [];
    const server = createServer(({ url }, response) => {
      asked.push(url);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('event: current\nid: c1\ndata: {"ageMs":1}\n\n');
      response.write(`event: changes\nid: c2\ndata: ${news}\n\n`);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = new MarketsClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'k' });
    const watch = client.watch({ fixtureId: 'f' });
    try {
      await until(() => asked.length > 1);
      expect(asked[1]).not.toContain('since');
    } finally {
      watch.close();
      server.closeAllConnections();
      server.close();
    }
  },
);

const groupOf = (name: string, reset: boolean) => {
  return { fixtureId: 'f', reset, changed: [{ _id: 'm', name }], removed: [] };
};
const changesOf = (name: string, reset = false) =>
  `event: changes\ndata: ${JSON.stringify({ data: [groupOf(name, reset)] })}\n\n`;

it('what came just before a cut, of one id alone, is not mixed with the state of another replica', async () => {
  const current = 'event: current\nid: c\ndata: {"ageMs":1}\n\n';
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (url.startsWith('/v1/markets/changes')) {
      // It does not know yet what was told last, and has nothing new since the cursor.
      const data = url.includes('since') ? [] : [groupOf('old', true)];
      response.end(JSON.stringify({ data, meta: { cursor: 'c', ageMs: 1 } }));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(
      asked.length === 1 ? changesOf('old', true) + current + current : changesOf('new'),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new MarketsClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'k' });
  const watch = client.watch({ fixtureId: 'f' });
  try {
    await until(() => asked.length > 2 && watch.status === 'current');
    expect(watch.markets({ fixtureId: 'f' }).get('m')?.name).toBe('old');
  } finally {
    watch.close();
    server.closeAllConnections();
    server.close();
  }
});
