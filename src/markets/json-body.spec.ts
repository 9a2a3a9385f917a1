import { expect, it, jest } from '@jest/globals';
import { demoMarkets } from '../demo/demo-markets.js';
import { marketJson } from './market-view.js';
import { PageAnswer } from './page-answer.js';
import { JsonBody } from './json-body.js';
import { groupOf } from './watch/group.js';

const makers: Readonly<Record<string, () => Buffer>> = {
  'a page': () => new PageAnswer({ page: 1, take: 10 }, ['{"name":"Over 2.5"}'], 1).body,
  'its compressed form': () =>
    new JsonBody([Buffer.alloc(2_000, 'odds ')]).compress('br') as Buffer,
  'a group': () => groupOf('eventId:nb-1001', ['{"name":"Over 2.5"}']),
};

it.each(Object.entries(makers))(
  'keeps no more memory alive than %s takes: not the pool that Node shares out',
  (_name, make) => {
    const { buffer, length } = make();
    expect(buffer.byteLength).toBe(length);
  },
);

it('weighs the memory that its compressed forms take', () => {
  const bodies = Array.from({ length: 200 }, () => new JsonBody([Buffer.alloc(2_000, 'odds ')]));
  const forms = bodies.flatMap((body) => [body.compress('br'), body.compress('gzip')]);
  // A small buffer may be a piece of a larger one, which others share.
  const taken = new Set(forms.map((form) => (form as Buffer).buffer));
  const inMemory = [...taken].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const weighed = bodies.reduce((sum, { bytes, length }) => sum + bytes - length, 0);
  expect(inMemory).toBe(weighed);
});

it('is smaller as br, which is preferred, than as gzip', () => {
  const markets = demoMarkets().slice(0, 10).map(marketJson);
  const page = new PageAnswer({ page: 1, take: 10 }, markets, 10);
  const [br, gzip] = [page.compress('br') as Buffer, page.compress('gzip') as Buffer];
  expect(br.length).toBeLessThan(gzip.length);
});

it('compresses anew what could not be compressed', async () => {
  const json = new JsonBody([Buffer.alloc(100_000, 'odds ')]);
  jest.spyOn(json, 'body', 'get').mockReturnValueOnce(5 as never);
  await expect(json.compress('br')).rejects.toThrow('must be of type');
  const compressing = json.compress('br');
  // Once for all who ask meanwhile.
  expect(json.compress('br')).toBe(compressing);
  expect(await compressing).toBeInstanceOf(Buffer);
});
