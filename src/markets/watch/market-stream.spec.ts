import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { MarketStream } from './market-stream.js';
import type { StreamContext, StreamOptions } from './stream-context.js';
import { StreamTimes } from './stream-times.js';
import { Watch } from './watch.js';

it('writes nothing more, however late it is, while its socket is full', () => {
  const written: string[] = [];
  const response = {
    writableNeedDrain: false,
    write: (event: string | Buffer) => written.push(String(event)),
    end: () => undefined,
  };
  const groups = {
    position: new Timestamp({ t: 1, i: 1 }),
    hasAll: () => true,
    groups: () => [],
  };
  const times = new StreamTimes();
  const begun = performance.now();
  const context = { times, groups, provenAt: begun };
  const watch = new Watch([{ eventId: 'e' }], {});
  const stream = new MarketStream(
    { watch, response, conflateMs: 0 } as unknown as StreamOptions,
    context as unknown as StreamContext,
    () => undefined,
  );
  const told = () => written.map((event) => /event: (\w+)/.exec(event)?.[1]);

  stream.tick(begun);
  expect(told()).toEqual(['current']);
  response.writableNeedDrain = true;
  for (let afterMs = 0; afterMs < 60_000; afterMs += times.tickMs) stream.tick(begun + afterMs);
  expect(told()).toEqual(['current']);

  response.writableNeedDrain = false;
  stream.tick(begun + times.lateAfterMs + times.tellEveryMs);
  expect(told()).toEqual(['current', 'late']);
});
