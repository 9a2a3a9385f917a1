import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { Market, Runner } from '../market.schema.js';
import { listFields } from '../stored-field.decorator.js';
import { checkRecord } from './market-record.js';

const runner = { runnerId: 'r1', name: 'Yes', price: 1.85 };
const market = {
  provider: 'Northbook',
  name: 'Both teams to score',
  marketId: 'm1',
  eventId: 'e1',
  fixtureId: 'f1',
  marketMoment: 'live',
  marketStatus: 'OPEN',
  marketType: 'BTTS',
  runners: [runner],
};

const ID = 'must be text of 1 to 256 characters, no control characters';
const TEXT = 'must be text that is not empty';
const PRICE = 'must be a finite number above 0';
const INSTANT = 'must be a date and time with zone in ISO 8601, such as 2026-11-21T07:03:00.044Z';

function faultsOf(value: unknown) {
  return checkRecord(value).faults;
}

it("the README's record has all that a record needs, and what it may lack is named before it", async () => {
  const readme = await readFile('README.md', 'utf8');
  const [, lacking = '', record = ''] =
    /but for `_id`; ([^.]*)\smay be left out[^]*?```json\n([^`]*)```/.exec(readme) ?? [];
  expect(faultsOf(JSON.parse(record))).toBeUndefined();
  const optional = [Market, Runner].flatMap(listFields).filter((field) => field.optional);
  expect([...lacking.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(
    optional.map(({ name }) => name),
  );
});

describe('checkRecord', () => {
  it('takes a market with and without what is optional', () => {
    expect(checkRecord(market)).toEqual({ record: market });
    const whole = { ...market, runners: [{ ...runner, line: '2.5' }] };
    expect(checkRecord(whole)).toEqual({ record: whole });
    expect(checkRecord({ ...market, runners: [] }).faults).toBeUndefined();
  });

  it.each([
    ['2017-08-11T09:00:00.123Z', '2017-08-11T09:00:00.123Z'],
    ['2017-08-11T09:00:00Z', '2017-08-11T09:00:00.000Z'],
    ['2017-08-11T09:00Z', '2017-08-11T09:00:00.000Z'],
    ['2017-08-11T09:00:00.123456+02:00', '2017-08-11T07:00:00.123Z'],
    ['2016-02-29T23:59:59-05:30', '2016-03-01T05:29:59.000Z'],
  ])('reads the instant %s', (createdAt, instant) => {
    expect(checkRecord({ ...market, createdAt }).record?.createdAt).toEqual(new Date(instant));
  });

  it.each([
    '2017-02-29T00:00:00Z',
    '2017-02-30T00:00:00Z',
    '2017-13-01T00:00:00Z',
    '2017-08-11T24:00:00Z',
    '2017-08-11T09:60:00Z',
    '2017-08-11T09:00:60Z',
    '2017-08-11T09:00:00',
    '2017-08-11',
    '2017-08-11 09:00:00Z',
    '2017-08-11T09:00:00+25:00',
    '2017-08-11T09:00:00Z ',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '',
    1502442000000,
    {},
  ])('refuses %p as an instant', (updatedAt) => {
    expect(faultsOf({ ...market, updatedAt })).toEqual([{ field: 'updatedAt', reason: INSTANT }]);
  });

  it.each([[null], [[market]], ['market'], [5], [true]])('refuses %p as a record', (value) => {
    expect(faultsOf(value)).toEqual([{ field: '', reason: 'must be a JSON object' }]);
  });

  it('names every field that is missing', () => {
    expect(faultsOf({})?.map(({ field }) => field)).toEqual([
      'provider',
      'name',
      'marketId',
      'eventId',
      'marketMoment',
      'marketStatus',
      'marketType',
      'runners',
      'fixtureId',
    ]);
    expect(new Set(faultsOf({})?.map(({ reason }) => reason))).toEqual(new Set(['is missing']));
  });

  it.each([
    ['provider', '', ID],
    ['provider', 7, ID],
    ['provider', 'Northbook\n', ID],
    ['provider', 'x'.repeat(257), ID],
    ['name', null, 'must not be null'],
    ['name', 'half \ud83d', 'must be well-formed Unicode'],
    ['marketId', '', ID],
    ['marketId', 'a\u0085b', ID],
    ['eventId', 12345, ID],
    ['eventId', 'x'.repeat(257), ID],
    ['fixtureId', '\udc00', 'must be well-formed Unicode'],
    ['marketMoment', 'Live', 'must be one of live, prelive'],
    ['marketStatus', '', 'must be text of 1 to 256 characters, no control characters'],
    ['marketStatus', 'OPEN\n', 'must be text of 1 to 256 characters, no control characters'],
    ['marketStatus', 'x'.repeat(257), 'must be text of 1 to 256 characters, no control characters'],
    ['marketStatus', 7, 'must be text of 1 to 256 characters, no control characters'],
    [
      'marketType',
      'constructor',
      'must be one of BTTS, MATCH_ODDS, OVER_UNDER, DOUBLE_CHANCE, UNDER_OVER_HT',
    ],
    ['runners', {}, 'must be a list'],
    ['runners', null, 'must not be null'],
    ['createdAt', null, 'must not be null: leave it out'],
  ])('refuses %s that is %p', (field, value, reason) => {
    expect(faultsOf({ ...market, [field]: value })).toEqual([{ field, reason }]);
  });

  it.each(['OPEN', 'SUSPENDED', 'closed', ' ', '\u{1f600}'.repeat(256)])(
    'takes any marketStatus: %s',
    (marketStatus) => {
      expect(faultsOf({ ...market, marketStatus })).toBeUndefined();
    },
  );

  it('takes ids of 256 characters outside the basic plane', () => {
    expect(faultsOf({ ...market, eventId: '\u{1f3c6}'.repeat(256) })).toBeUndefined();
  });

  it.each(['1.85', 0, -0, -1, Number.POSITIVE_INFINITY, Number.NaN, true, [1.85]])(
    'refuses the price %p',
    (price) => {
      const runners = [runner, { ...runner, price }];
      expect(faultsOf({ ...market, runners })).toEqual([
        { field: 'runners[1].price', reason: PRICE },
      ]);
    },
  );

  it('reports all faults at once, those of runners with their place', () => {
    const runners = [{ ...runner, odd: 1, line: '' }, 'r2', { name: 'No' }];
    expect(faultsOf({ ...market, _id: 'x', runners, odds: [] })).toEqual([
      { field: '_id', reason: 'is made by MongoDB and must not be given' },
      { field: 'runners[0].line', reason: TEXT },
      { field: 'runners[0].odd', reason: 'is not a field of a runner' },
      { field: 'runners[1]', reason: 'must be a JSON object' },
      { field: 'runners[2].runnerId', reason: 'is missing' },
      { field: 'runners[2].price', reason: 'is missing' },
      { field: 'odds', reason: 'is not a field of a market' },
    ]);
  });

  it('tells 20 faults of a record, and how many more there are', () => {
    const twenty = Array.from({ length: 20 }, (_runner, i) => ({ ...runner, price: -i }));
    expect(faultsOf({ ...market, runners: twenty })).toHaveLength(20);
    const oneMore = faultsOf({ ...market, runners: [...twenty, { ...runner, price: -1 }] });
    expect(oneMore?.slice(20)).toEqual([{ field: '', reason: 'and 1 more' }]);
    const faults = faultsOf({ ...market, runners: Array.from({ length: 400 }, () => ({})) });
    expect(faults).toHaveLength(21);
    expect(faults?.at(0)).toEqual({ field: 'runners[0].runnerId', reason: 'is missing' });
    expect(faults?.at(-1)).toEqual({ field: '', reason: 'and 1180 more' });
  });

  it('sees names that objects have by themselves', () => {
    const parsed = JSON.parse(
      JSON.stringify(market).replace('{', '{"__proto__":{"name":"x"},"toString":2,'),
    ) as unknown;
    expect(faultsOf(parsed)).toEqual([
      { field: '__proto__', reason: 'is not a field of a market' },
      { field: 'toString', reason: 'is not a field of a market' },
    ]);
  });
});
