import type { Connection } from 'mongoose';
import { randomUUID } from 'node:crypto';
import { hashKey, keyIdOf } from '../src/api-keys/key-form.js';
import type { Market, Runner } from '../src/markets/market.schema.js';

export function aRunner(overrides: Partial<Runner> = {}): Runner {
  return { runnerId: `runner-${randomUUID()}`, name: 'Home', price: 1.85, ...overrides };
}

/** A market as it is stored; each has an event, a fixture and a market id of its own. */
export function aMarket(overrides: Partial<Market> = {}): Omit<Market, '_id'> & Partial<Market> {
  return {
    provider: 'Northbook',
    name: 'Match Odds',
    marketId: `market-${randomUUID()}`,
    eventId: `event-${randomUUID()}`,
    fixtureId: `fixture-${randomUUID()}`,
    marketMoment: 'prelive',
    marketStatus: 'OPEN',
    marketType: 'MATCH_ODDS',
    runners: [
      aRunner(),
      aRunner({ name: 'Draw', price: 3.4 }),
      aRunner({ name: 'Away', price: 4.2 }),
    ],
    createdAt: new Date('2026-11-21T07:03:00.044Z'),
    updatedAt: new Date('2026-11-21T07:03:00.044Z'),
    ...overrides,
  };
}

/** What is stored for a key, as another program may write it; without a request limit. */
export function keyRecord(key: string) {
  return { _id: keyIdOf(key) ?? '', name: 'test', hash: hashKey(key), rateLimit: 0 };
}

/** Stores documents as another writer would: past Mongoose, in the driver's words. */
export async function store(connection: Connection, ...documents: object[]): Promise<void> {
  await connection.collection('markets').insertMany(documents.map((document) => ({ ...document })));
}

/** Stores an event with so many markets, and so many bytes in each. @returns its id */
export async function storeEvent(connection: Connection, count: number, bytes = 0) {
  const eventId = randomUUID();
  const name = 'x'.repeat(bytes) || 'name';
  const market = { ...aMarket({ eventId, name }), runners: [] };
  const all = Array.from({ length: count }, () => {
    const id = randomUUID();
    return { ...market, marketId: id, _id: id };
  });
  await store(connection, ...all);
  return eventId;
}
