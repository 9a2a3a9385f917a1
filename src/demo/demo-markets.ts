import { Types } from 'mongoose';
import type { Market, MarketMoment, Runner } from '../markets/market.schema.js';
import { KINDS, type Fixture, type Match, type Selection } from './demo-kinds.js';
import { goalChances } from './goals.js';

/** Invented, as all names here are. `margin` is what a provider adds to fair chances. */
const PROVIDERS = [
  { name: 'Northbook', prefix: 'nb', margin: 0.05 },
  { name: 'Larkstake', prefix: 'ls', margin: 0.06 },
  { name: 'Quillmere Odds', prefix: 'qm', margin: 0.04 },
  { name: 'Ferrowager', prefix: 'fw', margin: 0.075 },
] as const;

const TOWNS = (
  'Alderwick Brackenmoor Corvale Dunmarrow Elmsgate Farrowby Glenhollow Harrowmere Ivystone Kestrelford ' +
  'Larkmouth Mossbridge Netherquay Oakhaven Pinecliff Quarrydale Ravenshore Saltmarsh Thornwell Umberfield'
).split(' ');
const FIXTURES = 36;
/** The first ones are being played: they have live markets too. */
const LIVE_FIXTURES = 6;

const WRITTEN_AT = new Date('2026-11-21T07:03:00.044Z');

export type DemoMarket = Omit<Market, '_id'> & { readonly _id: Types.ObjectId };

/** Markets to try the service with: the same ones each time, with ids that are easy to remember. */
export function demoMarkets(): DemoMarket[] {
  const markets = fixtures().flatMap((fixture) =>
    PROVIDERS.flatMap((provider) => [
      ...(fixture.number <= LIVE_FIXTURES ? marketsOf(fixture, provider, 'live') : []),
      ...marketsOf(fixture, provider, 'prelive'),
    ]),
  );
  return markets.map((market, index) => ({ _id: idOf(index + 1), ...market }));
}

function idOf(number: number): Types.ObjectId {
  return new Types.ObjectId(`69200000${number.toString(16).padStart(16, '0')}`);
}

function fixtures(): Fixture[] {
  return Array.from({ length: FIXTURES }, (_, index) => ({
    number: index + 1,
    home: `${TOWNS[index % TOWNS.length]} Wanderlings`,
    away: `${TOWNS[(index + 7) % TOWNS.length]} Lanterns`,
    homeGoals: 1.2 + ((index * 7 + 6) % 12) / 10,
    awayGoals: 0.8 + ((index * 5 + 5) % 11) / 10,
  }));
}

function marketsOf(
  fixture: Fixture,
  { name: provider, prefix, margin }: (typeof PROVIDERS)[number],
  marketMoment: MarketMoment,
): Omit<Market, '_id'>[] {
  const eventId = `${prefix}-${1000 + fixture.number}`;
  const match = matchOf(fixture, marketMoment);
  return KINDS.map(({ key, name, type, selections }) => {
    const marketId = marketMoment === 'live' ? `${eventId}-${key}` : `${eventId}-pre-${key}`;
    return {
      createdAt: WRITTEN_AT,
      updatedAt: WRITTEN_AT,
      provider,
      name,
      marketId,
      eventId,
      marketMoment,
      marketStatus: 'OPEN',
      marketType: type,
      runners: selections(match).map((selection) => runnerOf(selection, marketId, margin)),
      fixtureId: `demo-fixture-${fixture.number}`,
    };
  });
}

function matchOf(fixture: Fixture, marketMoment: MarketMoment): Match {
  // A live match is goalless after a quarter of an hour; a bit less than half of all goals fall before half-time.
  const left = marketMoment === 'live' ? 0.85 : 1;
  const leftOfFirstHalf = marketMoment === 'live' ? 0.3 : 0.45;
  const { homeGoals, awayGoals } = fixture;
  return {
    ...fixture,
    full: goalChances(homeGoals * left, awayGoals * left),
    firstHalf: goalChances(homeGoals * leftOfFirstHalf, awayGoals * leftOfFirstHalf),
  };
}

function runnerOf(
  { key, name, chance, line }: Selection,
  marketId: string,
  margin: number,
): Runner {
  const price = Math.max(1.01, Math.round(100 / (chance * (1 + margin))) / 100);
  return { runnerId: `${marketId}-${key}`, name, price, ...(line !== undefined && { line }) };
}
