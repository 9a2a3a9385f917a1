import { beforeEach, describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { aMarket } from '../../../test/factories.js';
import { CachedScope, cachedMarketOf } from './cached-scope.js';
import { orderedIdOf, type OrderedId } from './id-order.js';
import type { Market } from '../market.schema.js';

const idOf = (id: unknown): OrderedId => {
  const bookId = orderedIdOf(id);
  if (!bookId) throw new Error('No id for a book');
  return bookId;
};
const entryOf = (id: string, overrides: Partial<Market> = {}) =>
  cachedMarketOf(idOf(id), { _id: id, ...aMarket({ eventId: 'e', ...overrides }) });
const paging = { page: 1, take: 10 };

describe('CachedScope', () => {
  let book: CachedScope;

  const read = (query = {}) => {
    const { data, meta } = JSON.parse(book.answer({ ...paging, ...query }).body.toString());
    return { ids: data.map(({ _id }: { _id: string }) => _id), itemCount: meta.itemCount };
  };

  beforeEach(() => {
    const entries = [entryOf('b'), entryOf('d', { marketMoment: 'live' }), entryOf('f')];
    book = new CachedScope({ eventId: 'e' }, new Timestamp({ t: 1, i: 1 }), entries);
  });

  it('shows pages in the order of ids, with the total', () => {
    expect(read({ take: 2 })).toEqual({ ids: ['b', 'd'], itemCount: 3 });
    expect(read({ take: 2, page: 2 })).toEqual({ ids: ['f'], itemCount: 3 });
    expect(read({ take: 2, page: Number.MAX_SAFE_INTEGER })).toEqual({ ids: [], itemCount: 3 });
  });

  it('shows what meets the filters', () => {
    expect(read({ marketMoment: 'live' })).toEqual({ ids: ['d'], itemCount: 1 });
    expect(read({ marketMoment: 'live', marketType: 'BTTS' })).toEqual({ ids: [], itemCount: 0 });
  });

  it.each([
    ['a', ['a', 'b', 'd', 'f']],
    ['c', ['b', 'c', 'd', 'f']],
    ['g', ['b', 'd', 'f', 'g']],
  ])('takes in %s at its place', (id, ids) => {
    read();
    book.put(entryOf(id));
    expect(read()).toEqual({ ids, itemCount: 4 });
  });

  it('shows a market as it was put last, once', () => {
    read({ marketMoment: 'live' });
    book.put(entryOf('b', { marketMoment: 'live' }));
    expect(read({ marketMoment: 'live' })).toEqual({ ids: ['b', 'd'], itemCount: 2 });
    expect(book.length).toBe(3);
  });

  it('loses what is removed, and nothing else', () => {
    read();
    book.remove(idOf('d'));
    book.remove(idOf('e'));
    expect(read()).toEqual({ ids: ['b', 'f'], itemCount: 2 });
    expect(book.has(idOf('d'))).toBe(false);
    expect(book.has(idOf('f'))).toBe(true);
  });

  it('makes an answer once', () => {
    expect(book.answer(paging)).toBe(book.answer({ ...paging }));
    const before = book.answer(paging);
    book.put(entryOf('b', { name: 'another' }));
    expect(book.answer(paging).etag).not.toBe(before.etag);
  });

  it('counts its bytes, whatever is put, removed and answered', () => {
    const before = book.bytes;
    book.answer(paging);
    expect(book.bytes).toBeGreaterThan(before + book.answer(paging).body.length);
    book.put(entryOf('c'));
    book.put(entryOf('c', { name: 'x'.repeat(1_000) }));
    expect(book.bytes).toBeGreaterThan(before + 1_000);
    book.remove(idOf('c'));
    expect(book.bytes).toBe(before);
  });

  it('does not remember answers without end', () => {
    for (let page = 1; page <= 1_000; page += 1) book.answer({ ...paging, page });
    const bytes = book.bytes;
    for (let page = 1; page <= 10_000; page += 1) book.answer({ ...paging, page });
    expect(book.bytes).toBeLessThan(bytes * 2);
  });
});
