import { expect, it, jest } from '@jest/globals';
import { demoMarkets } from '../demo/demo-markets.js';
import { compressors } from './compression.js';
import { marketJson } from './market-view.js';
import { PageAnswer } from './page-answer.js';
import { groupOf } from './watch/group.js';

const pageOf = (bytes: number) =>
  new PageAnswer({ page: 1, take: 10 }, [JSON.stringify('odds '.repeat(bytes / 5))], 1);

const makers: Readonly<Record<string, () => Buffer>> = {
  'a page': () => new PageAnswer({ page: 1, take: 10 }, ['{"name":"Over 2.5"}'], 1).body,
  'its compressed form': () => pageOf(2_000).compress('br') as Buffer,
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
  const pages = Array.from({ length: 200 }, () => pageOf(2_000));
  const forms = pages.flatMap((page) => [page.compress('br'), page.compress('gzip')]);
  // A small buffer may be a piece of a larger one, which others share.
  const taken = new Set(forms.map((form) => (form as Buffer).buffer));
  const inMemory = [...taken].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const weighed = pages.reduce((sum, { bytes, body }) => sum + bytes - body.length, 0);
  expect(inMemory).toBe(weighed);
});

it('is smaller as br, which is preferred, than as gzip', () => {
  const markets = demoMarkets().slice(0, 10).map(marketJson);
  const page = new PageAnswer({ page: 1, take: 10 }, markets, 10);
  const [br, gzip] = [page.compress('br') as Buffer, page.compress('gzip') as Buffer];
  expect(br.length).toBeLessThan(gzip.length);
});

it('is compressed once for all who ask, and weighed once', () => {
  const page = pageOf(2_000);
  const form = page.compress('br');
  const { bytes } = page;
  expect(page.compress('br')).toBe(form);
  expect(page.bytes).toBe(bytes);
});

it.each(Object.entries(compressors))(
  'makes the same of a large body by %s in another thread, as fast, as it would make at once',
  async (_name, { atOnce, later }) => {
    const body = Buffer.from(demoMarkets().map(marketJson).join());
    expect((await later(body)).equals(atOnce(body))).toBe(true);
  },
);

it('compresses anew what could not be compressed', async () => {
  const page = pageOf(100_000);
  jest.spyOn(compressors.br, 'later').mockRejectedValueOnce(new Error('no memory'));
  await expect(page.compress('br')).rejects.toThrow('no memory');
  const compressing = page.compress('br');
  // Once for all who ask meanwhile.
  expect(page.compress('br')).toBe(compressing);
  expect(await compressing).toBeInstanceOf(Buffer);
});
