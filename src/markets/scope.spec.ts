import { describe, expect, it } from '@jest/globals';
import { filterOf, partsOf, scopeOf, scopesOf } from './scope.js';

describe('scopeOf', () => {
  it('tells events from fixtures', () => {
    expect(scopeOf('eventId', 'x')).not.toBe(scopeOf('fixtureId', 'x'));
    expect(scopeOf('eventId', 'fixtureId:x')).not.toBe(scopeOf('fixtureId', 'x'));
  });

  it('makes no scope of another parameter', () => {
    expect(scopeOf('teamId', 'x')).toBeUndefined();
  });

  it.each(['x', 'fixtureId:x', ':', ''])('is told by field and id again: %j', (id) => {
    expect(filterOf(`eventId:${id}`)).toEqual({ eventId: id });
    expect(partsOf(`fixtureId:${id}`)).toEqual(['fixtureId', id]);
  });
});

describe('scopesOf', () => {
  it.each([
    [{ eventId: 'e', fixtureId: 'f' }, ['eventId:e', 'fixtureId:f']],
    [{ eventId: ['e', 'd', 'e'] }, ['eventId:e', 'eventId:d']],
    [{ eventId: ['e', ['d'], null, 7, { eventId: 'c' }] }, ['eventId:e']],
    [{ eventId: [] }, []],
    [{ eventId: null, fixtureId: 7 }, []],
    [{ fixtureId: { $eq: 'f' } }, []],
    [{}, []],
  ])('finds %j under %j', (market, scopes) => {
    expect(scopesOf(market)).toEqual(scopes);
  });
});
