import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { hedge } from '../clients/typescript/src/hedge.js';
import { streamEvents } from '../clients/typescript/src/line.js';
import { ConnectionLost, MarketsProblem } from '../clients/typescript/src/problem.js';
import type { Transport } from '../clients/typescript/src/transport.js';
import { sleep } from '../clients/typescript/src/waiting.js';
import { Watch } from '../clients/typescript/src/watch.js';

afterEach(() => {
  jest.useRealTimers();
});

describe('tries beside one another', () => {
  it('end when one has won: the others hold no connection', async () => {
    const tries: AbortSignal[] = [];
    const start = (each: AbortSignal) => {
      tries.push(each);
      return tries.length === 2 ? Promise.resolve('won') : once(each, 'abort').then(() => 'lost');
    };
    const { signal } = new AbortController();
    expect(await hedge(start, { everyMs: 5, eachMs: 60_000, signal })).toBe('won');
    expect(tries.map(({ aborted }) => aborted)).toEqual([true, false]);
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
});

describe('a wait', () => {
  it('longer than a timer can be is no short one', async () => {
    const giveUp = AbortSignal.timeout(50);
    for (const ms of [2 ** 31, Infinity]) {
      await expect(sleep(ms, giveUp)).rejects.toMatchObject({ name: 'TimeoutError' });
    }
  });
});

describe('a stream', () => {
  it('is given up when nothing is heard of it for ten seconds', async () => {
    // What streams are made of goes on: only time is ours.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    let end: unknown;
    const body = new ReadableStream<Uint8Array>({
      start: (sender) => sender.enqueue(new TextEncoder().encode('event: current\ndata: {}\n\n')),
    });
    const headers = { 'Content-Type': 'text/event-stream' };
    const open = () => Promise.resolve(new Response(body, { headers }));
    const transport = { open } as unknown as Transport;
    const events = streamEvents(transport, 'http://a', new AbortController().signal);
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
