import { describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { readAs } from '../../../test/read-as.js';
import { writeCursor } from './cursor.js';
import { StreamQuery, WatchQuery } from './watch-query.dto.js';

const cursor = writeCursor({
  position: new Timestamp({ t: 1, i: 2 }),
  watchHash: '0123456789abcdef',
});

const many = (name: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `${name}=${from + index}`).join('&');

const faultsOf = (query: string, headers = {}) =>
  readAs(StreamQuery, query, headers).faults?.map((fault) => `${fault.in} ${fault.name}`);

const idOf = (headers: Record<string, string>) =>
  readAs(StreamQuery, 'eventId=a', headers).input?.['Last-Event-ID'];

describe('WatchQuery', () => {
  it.each([
    [1, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [21, 3],
    [50, 5],
  ])('of %i ids counts as %i requests', (ids, cost) => {
    expect(readAs(WatchQuery, many('eventId', ids)).input?.cost).toBe(cost);
  });

  it('lists the ids in the order of the query, both names together', () => {
    const { input } = readAs(
      WatchQuery,
      `eventId=b&fixtureId=%C3%A9&api_key=x&provider=p&eventId=a&fixtureId=b&since=${cursor}&provider=o`,
    );
    expect(input).toEqual({
      scopes: ['eventId:b', 'fixtureId:\u00e9', 'eventId:a', 'fixtureId:b'],
      eventId: ['b', 'a'],
      fixtureId: ['\u00e9', 'b'],
      provider: ['p', 'o'],
      since: cursor,
    });
  });

  it.each([
    ['fixtureId=a', 1],
    ['eventId=a', 1],
    [many('eventId', 50), 50],
    [`${many('eventId', 25)}&${many('fixtureId', 25)}`, 50],
  ])('takes 1 to 50 ids: %#', (query, count) => {
    expect(readAs(WatchQuery, query).input?.scopes).toHaveLength(count);
  });

  it.each([
    ['', ['query fixtureId']],
    ['since=x', ['query fixtureId', 'query since']],
    [many('fixtureId', 51), ['query fixtureId']],
    [many('eventId', 51), ['query eventId']],
    [`${many('eventId', 25)}&${many('fixtureId', 26)}`, ['query fixtureId']],
    [`${many('eventId', 50)}&fixtureId=a`, ['query fixtureId']],
    ['eventId=a&eventId=b&eventId=%61', ['query eventId']],
    ['eventId=', ['query eventId']],
    ['eventId=%00&fixtureId=%FF', ['query eventId', 'query fixtureId']],
    ['eventId[]=a', ['query eventId[]', 'query fixtureId']],
    ['eventId=a&page=1&take=1', ['query page', 'query take']],
    ['eventId=a&since=x&since=y', ['query since']],
    [`eventId=a&since=${'x'.repeat(257)}`, ['query since']],
    [
      'marketType=x&conflateMs=10001&since=&nope=1',
      ['query marketType', 'query conflateMs', 'query since', 'query nope', 'query fixtureId'],
    ],
  ])('names all that is wrong with %j, each once', (query, expected) => {
    expect(faultsOf(query)?.toSorted()).toEqual(expected.toSorted());
  });

  it('tells what would be right', () => {
    expect(readAs(WatchQuery, '').faults).toEqual([
      {
        in: 'query',
        name: 'fixtureId',
        detail: 'must be given from 1 to 50 times, eventId and fixtureId together',
      },
    ]);
  });
});

describe('StreamQuery', () => {
  it('does not conflate unless asked to', () => {
    expect(readAs(StreamQuery, 'eventId=a').input?.conflateMs).toBe(0);
    expect(readAs(StreamQuery, 'eventId=a&conflateMs=10000').input?.conflateMs).toBe(10_000);
    expect(faultsOf('eventId=a&conflateMs=0')).toBeUndefined();
  });

  it.each(['-1', '00', '1.0', '1e3', '10001', ' 1', 'x'])('refuses conflateMs=%s', (text) => {
    expect(faultsOf(`eventId=a&conflateMs=${text}`)).toEqual(['query conflateMs']);
  });

  it('takes Last-Event-ID from the header, an empty one as none', () => {
    expect(idOf({ 'last-event-id': cursor })).toBe(cursor);
    expect(idOf({ 'last-event-id': '' })).toBeUndefined();
    expect(idOf({})).toBeUndefined();
  });

  it.each(['x'.repeat(257), 'a\tb'])('refuses what no cursor can be in Last-Event-ID: %j', (id) => {
    expect(faultsOf('eventId=a', { 'last-event-id': id })).toEqual(['header Last-Event-ID']);
  });
});
