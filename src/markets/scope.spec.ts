import { describe, expect, it } from '@jest/globals';
import { filterOf, partsOf, scopesOf } from './scope.js';

it.each(['x', 'fixtureId:x', ':', ''])('a scope is told by field and id again: %j', (id) => {
  expect(scopesOf({ eventId: id }).map(filterOf)).toEqual([{ eventId: id }]);
  expect(scopesOf({ fixtureId: id }).map(partsOf)).toEqual([['fixtureId', id]]);
});

describe('scopesOf', () => {
  it.each([
    [{ eventId: 'e', fixtureId: 'f' }, ['eventId:e', 'fixtureId:f']],
    [{ eventId: ['e', 'd', 'e'] }, ['eventId:e', 'eventId:d']],
    [{ eventId: ['e', ['d'], null, 7, { eventId: 'c' }] }, ['eventId:e']],
    [{ eventId: [] }, []],
    [{ eventId: null, fixtureId: 7 }, []],
    [{ fixtureId: { $eq: 'f' } }, []],
    [{ teamId: 'x' }, []],
    [{}, []],
  ])('finds %j under %j', (market, scopes) => {
    expect(scopesOf(market)).toEqual(scopes);
  });
});
