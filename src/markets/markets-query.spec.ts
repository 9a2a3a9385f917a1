import { describe, expect, it } from '@jest/globals';
import { readAs } from '../../test/read-as.js';
import { MarketsQuery } from './markets-query.dto.js';

const TYPES = 'must be one of BTTS, MATCH_ODDS, OVER_UNDER, DOUBLE_CHANCE, UNDER_OVER_HT';
const ALLOWED = 'marketMoment, marketType, marketStatus, provider, page, take';
const TEXT = 'must be 1 to 256 characters, no control characters';

const times = (count: number, part: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => part(n)).join('&');

describe('MarketsQuery', () => {
  it('holds every value of each filter in the order of the query, and numbers as numbers', () => {
    const query =
      'provider=b&take=100&marketType=BTTS&provider=a&page=2&marketType=MATCH_ODDS&api_key=x&marketStatus=a,b';

    expect(readAs(MarketsQuery, query).input).toEqual({
      provider: ['b', 'a'],
      marketType: ['BTTS', 'MATCH_ODDS'],
      marketStatus: ['a,b'],
      page: 2,
      take: 100,
    });
    expect(readAs(MarketsQuery, '').input).toEqual({ page: 1, take: 10 });
  });

  it.each([
    ['marketType', TYPES, 'marketType=btts'],
    ['marketType', `${TYPES}: for several, repeat the name`, 'marketType=BTTS,MATCH_ODDS'],
    ['marketMoment', 'must be one of live, prelive', 'marketMoment=live&marketMoment=Live'],
    ['marketType', 'must not have the same value twice', 'marketType=BTTS&marketType=BTTS'],
    ['provider', 'must not be given more than 20 times', times(21, (n) => `provider=${n}`)],
    ['marketType', 'must not be given more than 20 times', times(21, () => 'marketType=BTTS')],
    ['provider', TEXT, `provider=${'%F0%9F%98%80'.repeat(257)}`],
    ['provider', TEXT, 'provider=a&provider=%00'],
    ['provider', 'must be valid percent-encoded UTF-8', 'provider=%00&provider=%ff'],
    ['provider', 'must be valid percent-encoded UTF-8', 'provider=%ff&provider=a'],
    ['marketStatus', 'must not be empty: leave it out instead', 'marketStatus=a&marketStatus='],
    ['take', 'must not be repeated', 'take=1&take=2'],
    ['take', 'must be a whole number from 1 to 100, in plain digits', 'take=101'],
    ['take', 'must be a whole number from 1 to 100, in plain digits', 'take=1e1'],
    ['page', 'must be a whole number from 1 to 9007199254740991, in plain digits', 'page=0'],
    [
      'page',
      'must be a whole number from 1 to 9007199254740991, in plain digits',
      'page=9007199254740993',
    ],
    ['__proto__', `is not known: allowed are ${ALLOWED}`, '__proto__=1'],
    ['.nope', `is not known: allowed are ${ALLOWED}`, '%2Enope=1&%2Enope=2'],
    ['provider[]', 'is not known: for several, repeat the name provider', 'provider%5B%5D=a'],
    ['provider[1]', 'is not known: for several, repeat the name provider', 'provider[1]=a'],
    ['page[]', `is not known: allowed are ${ALLOWED}`, 'page[]=1'],
    ['a[provider]', `is not known: allowed are ${ALLOWED}`, 'a[provider]=1'],
    ['?', 'must be valid percent-encoded UTF-8', '%FF=1'],
  ])('tells what is wrong: %s %s', (name, detail, query) => {
    expect(readAs(MarketsQuery, query).faults).toEqual([{ in: 'query', name, detail }]);
  });

  it.each([1, 3])('counts the names that are not known beyond twenty: %d', (more) => {
    const { faults = [] } = readAs(MarketsQuery, `${times(20 + more, (n) => `n${n}=1`)}&n0=2`);

    expect(faults).toHaveLength(21);
    expect(faults[20]).toEqual({
      in: 'query',
      name: '?',
      detail: `has more names that are not known: ${more}`,
    });
  });
});
