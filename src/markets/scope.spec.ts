import { describe, expect, it } from '@jest/globals';
import { byScopeKey, scopeKey, scopeKeysOf } from './scope.js';

describe('scopeKey', () => {
  it('tells events from fixtures', () => {
    expect(scopeKey({ eventId: 'x' })).not.toBe(scopeKey({ fixtureId: 'x' }));
    expect(scopeKey({ eventId: 'fixtureId:x' })).not.toBe(scopeKey({ fixtureId: 'x' }));
  });

  it('makes no scope of one field into one of another', () => {
    expect(() => scopeKey({ teamId: 'x' } as never)).toThrow('eventId, fixtureId');
    expect(() => scopeKey({ eventId: undefined } as never)).toThrow('eventId, fixtureId');
  });
});

describe('scopeKeysOf', () => {
  it.each([
    [{ eventId: 'e', fixtureId: 'f' }, [{ eventId: 'e' }, { fixtureId: 'f' }]],
    [{ eventId: ['e', 'd'] }, [{ eventId: 'e' }, { eventId: 'd' }]],
    [{ eventId: ['e', ['d'], null, 7, { eventId: 'c' }] }, [{ eventId: 'e' }]],
    [{ eventId: [] }, []],
    [{ eventId: null, fixtureId: 7 }, []],
    [{ fixtureId: { $eq: 'f' } }, []],
    [{}, []],
  ])('finds %j under %j', (market, scopes) => {
    expect(scopeKeysOf(market)).toEqual(scopes.map(scopeKey));
  });
});

describe('byScopeKey', () => {
  it('puts a market once under each of its ids, though an id is in a list twice', () => {
    const [one, other] = [{ eventId: ['e', 'd', 'e'] }, { eventId: 'e' }];
    expect([...byScopeKey([one, other])]).toEqual([
      ['eventId:e', [one, other]],
      ['eventId:d', [one]],
    ]);
  });
});
