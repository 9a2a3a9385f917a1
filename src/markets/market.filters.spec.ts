import { describe, expect, it } from '@jest/globals';
import { conditionsOf, FILTERED_FIELDS, meets } from './market.filters.js';

describe('conditionsOf', () => {
  const paging = { page: 1, take: 10 };

  it('has nothing to ask of a query without filters', () => {
    expect(conditionsOf(paging)).toEqual([]);
  });

  it('has a condition for each filter', () => {
    expect(conditionsOf({ ...paging, marketType: 'BTTS', marketMoment: 'live' })).toEqual([
      { marketMoment: 'live' },
      { marketType: 'BTTS' },
    ]);
  });

  it('looks at the fields that it says it looks at', () => {
    const conditions = conditionsOf({ ...paging, marketType: 'BTTS', marketMoment: 'live' });
    expect(conditions.flatMap((condition) => Object.keys(condition))).toEqual(FILTERED_FIELDS);
  });
});

describe('meets', () => {
  it.each([
    ['live', true],
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
    expect(meets({ marketMoment }, { marketMoment: 'live' })).toBe(expected);
  });

  it('wants every field of a condition', () => {
    const condition = { marketMoment: 'live', marketType: 'BTTS' };
    expect(meets({ marketMoment: 'live', marketType: 'BTTS' }, condition)).toBe(true);
    expect(meets({ marketMoment: 'live', marketType: 'MATCH_ODDS' }, condition)).toBe(false);
  });
});
