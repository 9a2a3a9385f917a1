import { expect, it } from '@jest/globals';
import type { MarketStream } from './market-stream.js';
import { OpenStreams } from './open-streams.js';

it('knows a key as long as it has a stream: its record is read again all that time', () => {
  const streams = new OpenStreams();
  const [one, other] = [1, 2].map(() => ({ options: { keyId: 'k' } }) as MarketStream);
  for (const stream of [one, other]) streams.add(stream as MarketStream);
  streams.delete(one as MarketStream);
  expect([...streams.keyIds]).toEqual(['k']);
  streams.delete(other as MarketStream);
  expect([...streams.keyIds]).toEqual([]);
});
