import { afterEach, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface StreamReader {
  readonly followStream: (options: {
    url: string;
    key: string;
    signal: AbortSignal;
    onEvent: (type: string, data: unknown) => void;
    onWait: (why: string) => void;
  }) => Promise<string>;
}

// As the page loads it: JavaScript, without types.
const READER = new URL('../src/docs/live/live-stream.js', import.meta.url).href;

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

const REFUSED = { 'Content-Type': 'application/problem+json', 'Retry-After': '0.01' };

it('the live page comes back where it is refused for a while, and goes on where it was', async () => {
  const { followStream } = (await import(READER)) as StreamReader;
  const answers = [
    [429, '{"detail":"Full."}'],
    [200, 'retry: 10\nevent: current\nid: c1\ndata: {"ageMs":1}\n\n'],
    [503, '{"detail":"Away."}'],
    [504, '{"detail":"Slow."}'],
    [200, 'event: current\nid: c2\ndata: {"ageMs":2}\n\n'],
    [200, 'event: end\ndata: {"reason":"draining"}\n\n'],
    [400, '{"detail":"No cursor."}'],
    [200, 'event: current\nid: c3\ndata: {"ageMs":3}\n\nevent: changes\ndata: {"data":[]}\n\n'],
    [200, 'event: end\ndata: {"reason":"key"}\n\n'],
  ] as const;
  const asked: unknown[] = [];
  const server = createServer(({ headers }, response) => {
    const [status, body] = answers[asked.length] ?? [500, ''];
    asked.push(headers['last-event-id']);
    response.writeHead(status, status === 200 ? {} : REFUSED).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const events: unknown[] = [];
  const waits: string[] = [];
  const refusal = await followStream({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: 'k',
    signal: AbortSignal.timeout(10_000),
    onEvent: (...event) => events.push(event.slice(0, 2)),
    onWait: (why) => waits.push(why),
  });
  server.closeAllConnections();
  server.close();

  expect(refusal).toBe('Ended by the server: key');
  expect(asked).toEqual([undefined, undefined, 'c1', 'c1', 'c1', 'c2', 'c2', undefined, undefined]);
  expect(waits).toEqual(['Full.', '', 'Away.', 'Slow.', '', '', '', '']);
  expect(events).toEqual([
    ['current', { ageMs: 1 }],
    ['current', { ageMs: 2 }],
    ['end', { reason: 'draining' }],
    ['current', { ageMs: 3 }],
    ['changes', { data: [] }],
    ['end', { reason: 'key' }],
  ]);
});

it('the live page takes a line for dead that is silent for ten seconds, and comes back when it may', async () => {
  const { followStream } = (await import(READER)) as StreamReader;
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const lines: ReadableStreamDefaultController<Uint8Array>[] = [];
  const fetch = jest.spyOn(globalThis, 'fetch').mockImplementation(async (_url, request) => {
    if (fetch.mock.calls.length === 2) {
      return new Response('{}', { status: 503, headers: { 'Retry-After': '7' } });
    }
    if (fetch.mock.calls.length === 3) return new Response('<html>', { status: 502 });
    const body = new ReadableStream<Uint8Array>({
      start(line) {
        lines.push(line);
        request?.signal?.addEventListener('abort', () => line.error(new Error('aborted')));
      },
    });
    return new Response(body);
  });
  const page = new AbortController();
  const waits: string[] = [];
  const ended = followStream({
    url: 'http://a',
    key: 'k',
    signal: page.signal,
    onEvent: () => undefined,
    onWait: (why) => waits.push(why),
  });
  const current = new TextEncoder().encode('retry: 3000\nevent: current\ndata: {"ageMs":1}\n\n');
  for (let count = 0; count < 3; count += 1) {
    await jest.advanceTimersByTimeAsync(9_900);
    lines[0]?.enqueue(current);
  }
  await jest.advanceTimersByTimeAsync(9_900);
  expect(waits).toEqual([]);
  // It comes back when the service has said, and is refused.
  await jest.advanceTimersByTimeAsync(2_900);
  expect(waits).toEqual(['']);
  await jest.advanceTimersByTimeAsync(300);
  expect(waits).toEqual(['', 'Status 503']);
  await jest.advanceTimersByTimeAsync(6_500);
  expect(fetch).toHaveBeenCalledTimes(2);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(fetch).toHaveBeenCalledTimes(3);
  // A proxy says nothing of when.
  await jest.advanceTimersByTimeAsync(2_000);
  expect(fetch).toHaveBeenCalledTimes(3);
  await jest.advanceTimersByTimeAsync(1_200);
  expect(fetch).toHaveBeenCalledTimes(4);
  page.abort(new Error('enough'));
  await expect(ended).rejects.toThrow('enough');
});

it('the live page reads data with any character that JSON may hold', async () => {
  const { followStream } = (await import(READER)) as StreamReader;
  const sent =
    'event: changes\ndata: {"data":"a: \u2028b"}\n\nevent: end\ndata: {"reason":"key"}\n\n';
  const fetch = jest.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(sent));
  const events: unknown[] = [];
  await followStream({
    url: 'http://a',
    key: 'k',
    signal: AbortSignal.timeout(10_000),
    onEvent: (...event) => events.push(event.slice(0, 2)),
    onWait: () => undefined,
  });
  expect(events).toEqual([
    ['changes', { data: 'a: \u2028b' }],
    ['end', { reason: 'key' }],
  ]);
  // What it no longer reads it leaves, so that it holds no stream of the key.
  expect(fetch.mock.calls[0]?.[1]?.signal?.aborted).toBe(true);
});

it('the live page reads an event that comes in pieces', async () => {
  const { followStream } = (await import(READER)) as StreamReader;
  const sent = 'event: changes\ndata: {"data":"é"}\n\nevent: end\ndata: {"reason":"key"}\n\n';
  const pieces = [...Buffer.from(sent)].map((byte) => Uint8Array.of(byte));
  const body = ReadableStream.from(pieces);
  jest.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(body as never));
  const events: unknown[] = [];
  const signal = AbortSignal.timeout(10_000);
  const onEvent = (_name: string, data: unknown) => void events.push(data);
  await followStream({ url: 'http://a', key: 'k', signal, onEvent, onWait: () => undefined });
  expect(events).toEqual([{ data: 'é' }, { reason: 'key' }]);
});

it('the live page says all that is wrong with what it asks for', async () => {
  const { followStream } = (await import(READER)) as StreamReader;
  const problem = { detail: 'Wrong.', errors: [{ name: 'eventId', detail: 'must be text' }] };
  jest.spyOn(globalThis, 'fetch').mockResolvedValue(Response.json(problem, { status: 400 }));
  const refusal = await followStream({
    url: 'http://a',
    key: 'k',
    signal: AbortSignal.timeout(10_000),
    onEvent: () => undefined,
    onWait: () => undefined,
  });
  expect(refusal).toBe('Wrong. eventId: must be text');
});
