import { expect, it } from '@jest/globals';
import type { Response } from 'express';
import { UnsentEvents } from './unsent-events.js';

const MIB = 1024 * 1024;

const unsentOf = (keyId: string, bytes: number) => {
  const response = { destroyed: false, writableLength: bytes };
  return { keyId, response: response as unknown as Response & typeof response };
};

it('has room for a key while it has at most 16 MiB of large events on its way', () => {
  const events = new UnsentEvents();
  const [one, other] = [unsentOf('a', 10 * MIB), unsentOf('a', 6 * MIB)];
  events.wrote(one);
  expect(events.hasRoom(other, MIB)).toBe(true);
  events.wrote(other);
  expect(events.hasRoom(one, MIB)).toBe(false);
  expect(events.hasRoom(unsentOf('b', 0), MIB)).toBe(true);
  expect(events.hasRoom(one, 200 * 1024)).toBe(true);
  Object.assign(other.response, { writableLength: 100 * 1024 });
  events.forgetRead();
  expect(events.hasRoom(one, MIB)).toBe(true);
});

it('has as much room for a key as is left for all, and always for its first large event', () => {
  const events = new UnsentEvents();
  const streams = ['a', 'b', 'c', 'd'].map((key) => unsentOf(key, 11 * MIB));
  for (const stream of streams) events.wrote(stream);
  expect(streams.map((stream) => events.hasRoom(stream, MIB))).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(events.hasRoom(unsentOf('e', 0), MIB)).toBe(true);
  const last = unsentOf('e', 11 * MIB);
  events.wrote(last);
  // More is on its way than may be for all together.
  expect(events.hasRoom(unsentOf('f', 0), MIB)).toBe(true);
  Object.assign(last.response, { destroyed: true });
  Object.assign(streams[0]?.response ?? {}, { destroyed: true });
  events.forgetRead();
  expect(events.hasRoom(unsentOf('b', 0), MIB)).toBe(true);
});

it('keeps nothing of what was read, nor of who has left', () => {
  const events = new UnsentEvents();
  const [read, left] = [unsentOf('a', MIB), unsentOf('b', MIB)];
  for (const stream of [read, left]) events.wrote(stream);
  Object.assign(read.response, { writableLength: 0 });
  Object.assign(left.response, { destroyed: true });
  events.forgetRead();
  expect(events['large'].size).toBe(0);
});
