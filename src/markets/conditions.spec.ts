import { describe, expect, it } from '@jest/globals';
import { conditionsOf, filteredOf, meets } from './conditions.js';
import { FILTERED_FIELDS } from './market.schema.js';
import { MarketFilters } from './markets-query.dto.js';
import { listParameters } from '../http/input/parameters.js';

const textOf = (query: MarketFilters) => JSON.stringify(conditionsOf(query));

describe('conditionsOf', () => {
  it('has nothing to ask of a query without filters', () => {
    expect(conditionsOf({})).toEqual({});
  });

  it('has a condition for each filter, which stands on the indexes', () => {
    const names = listParameters(MarketFilters).map(({ name }) => name);
    const everything = Object.fromEntries(names.map((name) => [name, ['b', 'a']]));

    const conditions = conditionsOf(everything);

    expect(conditions).toEqual(
      Object.fromEntries(FILTERED_FIELDS.map((name) => [name, { $in: ['a', 'b'] }])),
    );
    expect(names.toSorted()).toEqual(FILTERED_FIELDS.toSorted());
  });

  it('is one text for the same question however it was asked', () => {
    expect(textOf({ provider: ['a', 'b'], marketStatus: ['x'] })).toBe(
      textOf({ marketStatus: ['x'], provider: ['b', 'a'] }),
    );
  });

  it('tells different questions apart', () => {
    const queries = [
      {},
      { provider: ['a'] },
      { marketStatus: ['a'] },
      { provider: ['a'], marketStatus: ['a'] },
      { provider: ['a', 'b'] },
      { provider: ['a,b'] },
      { provider: ['a"', 'b'] },
    ];
    expect(new Set(queries.map(textOf)).size).toBe(queries.length);
  });
});

describe('meets', () => {
  it.each([
    ['live', true],
    ['later', true],
    ['Live', false],
    ['', false],
    [undefined, false],
    [null, false],
    [['prelive', 'live'], true],
    [['prelive'], false],
    [[], false],
    [[['live']], false],
    [{ live: true }, false],
  ])('judges %j as MongoDB does: %j', (marketMoment, expected) => {
    const conditions = { marketMoment: { $in: ['live', 'later'] } };
    expect(meets({ marketMoment }, conditions)).toBe(expected);
    expect(meets(filteredOf({ marketMoment }), conditions)).toBe(expected);
  });

  it('wants every field of a condition', () => {
    const conditions = { marketMoment: { $in: ['live'] }, marketType: { $in: ['BTTS'] } };
    expect(meets({ marketMoment: 'live', marketType: 'BTTS' }, conditions)).toBe(true);
    expect(meets({ marketMoment: 'live', marketType: 'MATCH_ODDS' }, conditions)).toBe(false);
  });
});

describe('filteredOf', () => {
  it('keeps what a filter can ask for, and no more', () => {
    const longest = '\u{1f600}'.repeat(256);
    expect(
      filteredOf({
        provider: longest,
        marketStatus: [`${longest}x`, 'OPEN', 7, null],
        marketType: { $in: [] },
        name: 'Match Odds',
      }),
    ).toEqual({ provider: longest, marketStatus: [undefined, 'OPEN', undefined, undefined] });
  });
});
