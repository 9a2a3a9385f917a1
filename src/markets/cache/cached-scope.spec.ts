import { beforeEach, describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { aMarket } from '../../../test/factories.js';
import { cachedMarketOf } from './cached-market.js';
import { CachedScope } from './cached-scope.js';
import { orderedKey } from './id-order.js';
import { FILTERED_FIELDS, type Market } from '../market.schema.js';

const keyOf = (id: string) => orderedKey(id) ?? '';
const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });
const aCached = (id: string, overrides: Partial<Market> = {}, seconds = 1) => {
  const stored = { _id: id, ...aMarket({ eventId: 'e', ...overrides }) };
  const market = cachedMarketOf(stored, at(seconds));
  if (!market) throw new Error('No id that memory can order');
  return market;
};
const paging = { page: 1, take: 10 };

describe('CachedScope', () => {
  let scope: CachedScope;

  const read = (query = {}) => {
    const { data, meta } = JSON.parse(scope.answer({ ...paging, ...query }).body.toString());
    return { ids: data.map(({ _id }: { _id: string }) => _id), itemCount: meta.itemCount };
  };

  beforeEach(() => {
    const markets = [aCached('b'), aCached('d', { marketMoment: 'live' }), aCached('f')];
    scope = new CachedScope('eventId:e', at(1), markets);
  });

  it('shows pages in the order of ids, with the total', () => {
    expect(read({ take: 2 })).toEqual({ ids: ['b', 'd'], itemCount: 3 });
    expect(read({ take: 2, page: 2 })).toEqual({ ids: ['f'], itemCount: 3 });
    expect(read({ take: 2, page: Number.MAX_SAFE_INTEGER })).toEqual({ ids: [], itemCount: 3 });
  });

  it('shows what meets the filters', () => {
    const live = { marketMoment: ['live'] };
    expect(read(live)).toEqual({ ids: ['d'], itemCount: 1 });
    expect(read({ ...live, marketType: ['BTTS'] })).toEqual({ ids: [], itemCount: 0 });
    expect(read({ ...live, provider: ['Northbook'] })).toEqual({ ids: ['d'], itemCount: 1 });
    expect(read({ ...live, marketStatus: ['Northbook'] })).toEqual({ ids: [], itemCount: 0 });
  });

  it('weighs what an answer was asked by: filters may be longer than what they find', () => {
    const before = scope.bytes;
    const provider = Array.from({ length: 20 }, (_, index) => `${index}`.padEnd(256, 'x'));
    read({ provider });
    scope.group(provider.join(), () => Buffer.alloc(0));
    expect(scope.bytes - before).toBeGreaterThan(2 * provider.join().length);
  });

  it('makes groups anew after a change that leaves every page with the same markets', () => {
    const group = (text: string) => scope.group('{}', () => Buffer.from(text)).toString();
    expect([group('old'), group('new')]).toEqual(['old', 'old']);
    scope.put(aCached('b', {}, 2));
    expect(group('new')).toBe('new');
  });

  it.each([
    ['a', ['a', 'b', 'd', 'f']],
    ['c', ['b', 'c', 'd', 'f']],
    ['g', ['b', 'd', 'f', 'g']],
  ])('takes in %s at its place', (id, ids) => {
    read();
    scope.put(aCached(id));
    expect(read()).toEqual({ ids, itemCount: 4 });
  });

  it('shows a market as it was put last, once', () => {
    read({ marketMoment: ['live'] });
    scope.put(aCached('b', { marketMoment: 'live' }));
    expect(read({ marketMoment: ['live'] })).toEqual({ ids: ['b', 'd'], itemCount: 2 });
    expect(scope.length).toBe(3);
  });

  it('loses what is removed, and nothing else', () => {
    read();
    scope.remove(keyOf('d'));
    scope.remove(keyOf('e'));
    expect(read()).toEqual({ ids: ['b', 'f'], itemCount: 2 });
    expect(scope.get(keyOf('d'))).toBeUndefined();
    expect(scope.get(keyOf('f'))).toBeDefined();
  });

  it('makes an answer once', () => {
    expect(scope.answer(paging)).toBe(scope.answer({ ...paging }));
    const before = scope.answer(paging);
    scope.put(aCached('b', { name: 'another' }));
    expect(scope.answer(paging).etag).not.toBe(before.etag);
  });

  it('makes only those answers anew that show the market that changed', () => {
    const pages = () => [1, 2].map((page) => scope.answer({ page, take: 1 }));
    const before = pages();
    scope.put(aCached('d', { marketMoment: 'live', name: 'another' }));
    const after = pages();
    expect(after[0]).toBe(before[0]);
    expect(String(after[1]?.body)).toContain('another');
  });

  it('makes all answers anew when another market meets their filters', () => {
    const live = { marketMoment: ['live'] };
    expect(read(live).ids).toEqual(['d']);
    scope.put(aCached('b', { marketMoment: 'live' }));
    expect(read(live).ids).toEqual(['b', 'd']);
    scope.put(aCached('b'));
    expect(read(live).ids).toEqual(['d']);
  });

  it('counts its bytes, whatever is put, removed and answered', () => {
    const before = scope.bytes;
    scope.answer(paging);
    expect(scope.bytes).toBeGreaterThan(before + scope.answer(paging).body.length);
    const answered = scope.bytes;
    scope.group('all', () => Buffer.alloc(1_000));
    expect(scope.bytes).toBeGreaterThan(answered + 1_000);
    scope.put(aCached('c'));
    scope.put(aCached('c', { name: 'x'.repeat(1_000) }));
    expect(scope.bytes).toBeGreaterThan(before + 1_000);
    scope.remove(keyOf('c'));
    expect(scope.bytes).toBe(before);
  });

  it('keeps an answer for each set of filters, whatever filters there are', () => {
    const queries = [{}, ...FILTERED_FIELDS.map((field) => ({ [field]: ['live'] }))];
    const answers = queries.map((query) => scope.answer({ ...paging, ...query }));
    expect(new Set(answers).size).toBe(queries.length);
  });

  it('counts a text that is not Latin-1 as V8 keeps it: two bytes for each character', () => {
    const latin = aCached('x', { name: 'é'.repeat(10_000) }).bytes;
    const cyrillic = aCached('x', { name: 'Ж'.repeat(10_000) }).bytes;
    expect(cyrillic).toBeGreaterThan(1.8 * latin);
  });

  it('knows since when the filters see the same of a market', () => {
    const since = () => scope.get(keyOf('b'))?.filteredSince;
    scope.put(aCached('b', { name: 'another' }, 2));
    expect(since()).toEqual(at(1));
    scope.put(aCached('b', { marketMoment: 'live' }, 3));
    expect(since()).toEqual(at(3));
  });

  it('does not remember answers without end', () => {
    for (let page = 1; page <= 1_000; page += 1) scope.answer({ ...paging, page });
    const bytes = scope.bytes;
    for (let page = 1; page <= 10_000; page += 1) scope.answer({ ...paging, page });
    expect(scope.bytes).toBeLessThan(bytes * 2);
  });
});
