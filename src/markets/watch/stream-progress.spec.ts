import { afterEach, expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { momentNow } from '../../common/moment.js';
import type { StreamContext, StreamOptions } from './stream-context.js';
import { StreamProgress } from './stream-progress.js';
import { Watch } from './watch.js';
import { UnsentEvents } from './unsent-events.js';

const unsentEvents = new UnsentEvents();

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });

afterEach(() => {
  jest.useRealTimers();
});

/** The stream of one event, all of which is in memory; it takes whatever is written. */
function aStream(conflateMs: number) {
  const events: string[] = [];
  const written = jest.fn();
  const response = { writableNeedDrain: false, write: (event: string) => events.push(event) };
  const feed = { position: at(11), provenAt: momentNow() };
  const groups = { hasAll: () => true, groups: () => [], event: () => ['changes'] };
  const watch = new Watch(['eventId:a'], {});
  const context = { feed, groups, unsentEvents, observer: { written } } as unknown as StreamContext;
  const options = { keyId: 'a', response, watch, conflateMs } as unknown as StreamOptions;
  const progress = new StreamProgress(options, context);
  progress.advance();
  return { progress, events, written, response, feed, groups, watch };
}

it('tells once what has changed in an id while its client was slow to read the others', () => {
  const watch = new Watch(['eventId:a', 'eventId:b'], {});
  const written: string[] = [];
  const beyond: string[] = [];
  let text = '';
  const response = {
    writableNeedDrain: false,
    write: (piece: string | Buffer) => {
      text += String(piece);
      if (!text.endsWith('\n\n')) return;
      written.push(text);
      if (response.writableNeedDrain) beyond.push(text);
      response.writableNeedDrain = true;
      text = '';
    },
  };
  const changedAt = at(12);
  const feed = { position: at(11), provenAt: momentNow() };
  const groups = {
    hasAll: () => true,
    groups: (_watch: Watch, since: Timestamp | undefined, keys?: readonly string[]) => {
      if (keys) return keys.map((key) => Buffer.from(`"${key}"`));
      return since?.lessThan(changedAt) ? [Buffer.from('"change of a"')] : [];
    },
  };
  const context = { feed, groups, unsentEvents } as unknown as StreamContext;
  const options = { response, watch, conflateMs: 0 } as unknown as StreamOptions;
  const progress = new StreamProgress(options, context);

  progress.advance();
  progress.markNew();
  feed.position = changedAt;
  for (let drains = 0; drains < 3; drains += 1) {
    response.writableNeedDrain = false;
    progress.advance();
  }

  const told = written.map((event) => /\["(.*)"\]/.exec(event)?.[1]).filter(Boolean);
  expect(told).toEqual(['eventId:a', 'eventId:b', 'change of a']);
  expect(written.at(-1)).toContain(watch.cursorAt(changedAt));
  // More than that waits in no buffer.
  expect(beyond).toEqual([expect.stringContaining('event: current')]);
});

it('does not say that a client knows everything while not all of its watch is in memory', () => {
  const { progress, events, feed, groups } = aStream(0);
  expect(events).toEqual([expect.stringContaining('event: current')]);
  groups.hasAll = () => false;
  feed.position = at(12);
  progress.tellCurrent();
  expect(events).toHaveLength(1);
});

it('holds large changes back while its key has much on its way, and says up to when it has told all', () => {
  const { progress, events, feed, groups, watch } = aStream(0);
  const large = { keyId: 'a', response: { writableLength: 20e6 } } as unknown as StreamOptions;
  const before = feed.position;
  const change = (count: number) => {
    for (let changes = 0; changes < count; changes += 1) progress.markNew();
    progress.advance();
  };
  unsentEvents.wrote(large);
  change(1);
  expect(events.slice(1)).toEqual(['changes']);
  change(101);
  feed.position = at(12);
  progress.tellCurrent();
  expect(events.slice(2)).toEqual([expect.stringContaining(`id: ${watch.cursorAt(before)}\n`)]);
  Object.assign(large.response, { destroyed: true });
  unsentEvents.forgetRead();
  progress.advance();
  expect(events.slice(3)).toEqual(['changes']);

  // A reset is large, however few changes it stands for.
  Object.assign(large.response, { destroyed: false });
  unsentEvents.wrote(large);
  groups.event = () => ['x'.repeat(300_000)];
  change(1);
  expect(events.slice(4)).toEqual([]);
  Object.assign(large.response, { destroyed: true });
  unsentEvents.forgetRead();
  progress.advance();
  expect(events.slice(4)).toHaveLength(1);
});

it('counts for its key what its client has not read', () => {
  const wrote = jest.spyOn(unsentEvents, 'wrote');
  const { progress, response } = aStream(0);
  progress.markNew();
  progress.advance();
  expect(wrote.mock.calls.map(([stream]) => stream.response)).toEqual([response, response]);
  wrote.mockRestore();
});

it('tells what is held back as soon as its time has come, each time', () => {
  jest.useFakeTimers();
  const { progress, events, feed, watch } = aStream(100);
  progress.markNew();
  progress.advance();
  for (let told = 2; told <= 3; told += 1) {
    jest.advanceTimersByTime(30);
    const before = feed.position;
    progress.markNew();
    progress.advance();
    feed.position = at(10 + told);
    // Who resumes there still gets what is held back.
    progress.tellCurrent();
    expect(events.at(-1)).toContain(`id: ${watch.cursorAt(before)}\n`);
    jest.advanceTimersByTime(70);
    expect(events.filter((event) => event === 'changes')).toHaveLength(told);
    progress.tellCurrent();
    expect(events.at(-1)).toContain(`id: ${watch.cursorAt(feed.position)}\n`);
  }
});

it('counts how long changes have waited longer than their caller wants', () => {
  jest.useFakeTimers();
  const { progress, written, response } = aStream(5_000);
  const change = () => {
    progress.markNew();
    progress.advance();
  };
  change();
  jest.advanceTimersByTime(1_000);
  change();
  jest.advanceTimersByTime(4_000);
  expect(written.mock.calls).toEqual([
    [1, 0],
    [1, 0],
  ]);
  change();
  response.writableNeedDrain = true;
  jest.advanceTimersByTime(7_000);
  response.writableNeedDrain = false;
  progress.advance();
  expect(written).toHaveBeenLastCalledWith(1, 2_000);
  jest.advanceTimersByTime(6_000);
  progress.markNew();
  jest.advanceTimersByTime(300);
  progress.advance();
  expect(written).toHaveBeenLastCalledWith(1, 300);
});
