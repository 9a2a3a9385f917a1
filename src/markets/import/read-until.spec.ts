import { expect, it } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { readUntil } from './read-until.js';

it('gives what has arrived by the time of the signal, and no more', async () => {
  const stream = new Readable({ read: () => undefined });
  const stop = new AbortController();
  const given: string[] = [];
  stream.push('one');
  for await (const chunk of readUntil(stream, stop.signal)) {
    given.push(chunk.toString());
    stream.push(given.length === 1 ? 'two' : 'three');
    stop.abort();
  }
  expect(given).toEqual(['one', 'two']);
  expect(stream.destroyed).toBe(true);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});
