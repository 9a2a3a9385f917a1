import { afterEach, expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { setImmediate } from 'node:timers/promises';
import { momentNow } from '../../common/moment.js';
import { MarketStream } from './market-stream.js';
import type { StreamContext, StreamOptions } from './stream-context.js';
import { streamEvents } from './stream-events.js';
import { StreamTimes } from './stream-times.js';
import { Watch } from './watch.js';
import { UnsentEvents } from './unsent-events.js';

/** A stream of which nothing changes, and what it has written. */
function aStream() {
  const written: string[] = [];
  const response = {
    writableNeedDrain: false,
    write: (event: string | Buffer) => written.push(String(event)),
    end: () => undefined,
  };
  const groups = { hasAll: () => true, groups: () => [] };
  const times = new StreamTimes();
  const feed = { position: new Timestamp({ t: 1, i: 1 }), provenAt: momentNow() };
  const begun = feed.provenAt.monotonicMs;
  const context = { times, groups, feed, unsentEvents: new UnsentEvents() };
  const watch = new Watch(['eventId:e'], {});
  const stream = new MarketStream(
    { watch, response, conflateMs: 0 } as unknown as StreamOptions,
    context as unknown as StreamContext,
    () => undefined,
  );
  const told = () => written.map((event) => /event: (\w+)/.exec(event)?.[1]);
  return { stream, context, response, begun, told };
}

afterEach(() => {
  jest.restoreAllMocks();
});

it.each([
  ['a tenth less', 0, 0.9],
  ['a tenth more', 1, 1.1],
])('lives for an hour, or up to %s', (_what, chance, hours) => {
  jest.spyOn(Math, 'random').mockReturnValue(chance);
  const { stream, context, begun } = aStream();
  const { feed } = context;
  const tickAt = (now: number) => {
    feed.provenAt = { ...feed.provenAt, monotonicMs: now };
    stream.tick(now);
  };
  const endsAt = begun + hours * 3_600_000;
  tickAt(endsAt - 1_000);
  expect(stream.reason).toBeUndefined();
  tickAt(endsAt + 1_000);
  expect(stream.reason).toBe('age');
});

it('writes nothing more, however late it is, while its socket is full', () => {
  const { stream, context, response, begun, told } = aStream();
  const { times } = context;

  stream.tick(begun);
  expect(told()).toEqual(['current']);
  response.writableNeedDrain = true;
  for (let afterMs = 0; afterMs < 60_000; afterMs += times.tickMs) stream.tick(begun + afterMs);
  expect(told()).toEqual(['current']);

  response.writableNeedDrain = false;
  stream.tick(begun + times.lateAfterMs + times.tellEveryMs);
  expect(told()).toEqual(['current', 'late']);
});

it('tells once that it is late no longer', () => {
  const { stream, context, begun, told } = aStream();
  const { feed, times } = context;
  const { lateAfterMs, tickMs } = times;

  stream.tick(begun);
  let now = begun + lateAfterMs + tickMs;
  stream.tick(now);
  expect(told()).toEqual(['current', 'late']);

  feed.provenAt = { ...feed.provenAt, monotonicMs: now };
  for (let ticks = 0; ticks < 4; ticks += 1) stream.tick((now += tickMs));
  expect(told()).toEqual(['current', 'late', 'current']);
});

it('tells after 2 s that it is late, again within 5 s, not each time that it is looked at, and ends after 15 s', () => {
  const { stream, context, begun, told } = aStream();
  let now = begun;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const seconds: number[] = [];
  for (; now < begun + 20_000; now += context.times.tickMs) {
    stream.tick(now);
    while (seconds.length < told().length) seconds.push(Math.floor((now - begun) / 1_000));
  }
  expect(told()).toEqual(['current', 'late', 'late', 'late', 'late', 'end']);
  expect(seconds).toEqual([0, 2, 6, 10, 14, 15]);
});

it('ends once, and writes nothing after that, whatever there is to tell', async () => {
  const { stream, told } = aStream();
  stream.markNew();
  stream.end('size');
  stream.end('draining');
  await setImmediate();
  expect(told()).toEqual(['end']);
});

it('tells ages in whole milliseconds, and none as less than it is', () => {
  expect(streamEvents.current(0.2, 'c')).toContain('data: {"ageMs":1}');
  expect(streamEvents.late(2_000.1)).toContain('data: {"ageMs":2001}');
});
