import { describe, expect, it } from '@jest/globals';
import { Decimal128, Int32 } from 'mongodb';
import { identityKey, planMarket } from './market-plan.js';
import type { MarketRecord } from './market-record.js';

const NOW = new Date('2026-11-21T07:03:00.044Z');
const EARLIER = new Date('2026-11-20T07:03:00.044Z');

function aRecord(overrides: Partial<MarketRecord> = {}): MarketRecord {
  return {
    provider: 'Northbook',
    name: 'Over/Under',
    marketId: 'm1',
    eventId: 'e1',
    fixtureId: 'f1',
    marketMoment: 'live',
    marketStatus: 'OPEN',
    marketType: 'OVER_UNDER',
    runners: [
      { runnerId: 'over', name: 'Over', price: 2, line: '2.5' },
      { runnerId: 'under', name: 'Under', price: 1.85 },
    ],
    ...overrides,
  };
}

it.each(['', ' ', ',', ':', '/', '|', '","'])(
  'takes no other market for this one by %j in an id',
  (mark) => {
    const one = aRecord({ eventId: `1${mark}2`, marketId: '3' });
    const other = aRecord({ eventId: '1', marketId: `2${mark}3` });
    expect(identityKey(one)).not.toBe(identityKey(other));
  },
);

describe('planMarket', () => {
  it('takes a new market for one change', () => {
    expect(planMarket([aRecord()], undefined, NOW)).toEqual({
      changes: 1,
      fields: { ...aRecord(), runners: expect.anything(), updatedAt: NOW },
      document: { ...aRecord(), runners: expect.anything(), createdAt: NOW, updatedAt: NOW },
    });
  });

  it('writes nothing when all but the dates is as stored, however it is stored', () => {
    const stored = {
      ...aRecord(),
      _id: 1,
      createdAt: EARLIER,
      extra: true,
      runners: [
        { runnerId: 'over', name: 'Over', price: Decimal128.fromString('2.0'), line: '2.5' },
        { runnerId: 'under', name: 'Under', price: 1.85, line: null, extra: 1 },
      ],
    };
    expect(planMarket([aRecord({ updatedAt: NOW })], stored, NOW)).toBeUndefined();
  });

  it.each([
    ['a name', { name: 'Other' }],
    ['a price', { runners: [{ runnerId: 'over', name: 'Over', price: 2.01, line: '2.5' }] }],
    ['a price as text', { runners: [{ runnerId: 'over', name: 'Over', price: '2', line: '2.5' }] }],
    ['a line more', { runners: [{ runnerId: 'over', name: 'Over', price: 2, line: '' }] }],
    ['fewer runners', { runners: [] }],
    [
      'a runner that was withdrawn since',
      {
        runners: [
          { runnerId: 'over', name: 'Over', price: 2, line: '2.5' },
          { runnerId: 'under', name: 'Under', price: 1.85 },
        ],
      },
    ],
    ['no list of runners', { runners: null }],
    ['no runner', { runners: [null] }],
  ])('updates a market that is stored with %s', (_what, stored) => {
    const record = aRecord({
      runners: [{ runnerId: 'over', name: 'Over', price: 2, line: '2.5' }],
    });
    const plan = planMarket([record], { ...record, ...stored }, NOW);
    expect(plan?.changes).toBe(1);
    expect(plan?.fields).toMatchObject({ name: record['name'], updatedAt: NOW });
  });

  it('updates a market whose runners come in another order', () => {
    const record = aRecord();
    const runners = [record['runners']].flat().toReversed();
    expect(planMarket([record], { ...record, runners }, NOW)?.changes).toBe(1);
  });

  it('lets the last of several records hold, in one write', () => {
    const records = [
      aRecord({ createdAt: EARLIER }),
      aRecord(),
      aRecord({ name: 'Second', updatedAt: EARLIER }),
      aRecord({ name: 'Second' }),
    ];
    const plan = planMarket(records, undefined, NOW);
    expect(plan?.changes).toBe(2);
    // As if each had been written by itself.
    expect(plan?.document).toMatchObject({
      name: 'Second',
      createdAt: EARLIER,
      updatedAt: EARLIER,
    });
  });

  it('takes the creation from the last change that tells one, and the time from the last change', () => {
    const records = [
      aRecord({ name: 'First', createdAt: new Date(0), updatedAt: EARLIER }),
      aRecord({ name: 'Second', createdAt: EARLIER, updatedAt: EARLIER }),
      aRecord({ name: 'Second', createdAt: NOW }),
      aRecord({ name: 'Third' }),
    ];
    const dates = { createdAt: EARLIER, updatedAt: NOW };
    expect(planMarket(records, undefined, NOW)?.document).toMatchObject(dates);
    expect(planMarket(records, aRecord(), NOW)?.fields).toMatchObject(dates);
  });

  it('writes nothing when the last of several records is stored', () => {
    const records = [aRecord({ name: 'First' }), aRecord()];
    expect(planMarket(records, { ...aRecord(), count: new Int32(1) }, NOW)).toBeUndefined();
  });
});
