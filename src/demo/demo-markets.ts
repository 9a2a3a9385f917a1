import { Types } from 'mongoose';
import type { Market, MarketMoment } from '../markets/market.schema.js';
import { kindsOf } from './demo-kinds.js';
import { scoreChances } from './goals.js';

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
  const markets = Array.from({ length: FIXTURES }, (_, index) => index + 1).flatMap((number) =>
    PROVIDERS.flatMap((provider) => [
      ...(number <= LIVE_FIXTURES ? marketsOf(number, provider, 'live') : []),
      ...marketsOf(number, provider, 'prelive'),
    ]),
  );
  return markets.map((market, index) => ({ _id: idOf(index + 1), ...market }));
}

/** Decimal odds, in hundredths. */
export function priceOf(chance: number): number {
  return Math.max(1.01, Math.round(100 / chance) / 100);
}

function idOf(number: number): Types.ObjectId {
  return new Types.ObjectId(`69200000${number.toString(16).padStart(16, '0')}`);
}

function marketsOf(
  fixture: number,
  { name: provider, prefix, margin }: (typeof PROVIDERS)[number],
  marketMoment: MarketMoment,
): Omit<Market, '_id'>[] {
  const eventId = `${prefix}-${1000 + fixture}`;
  const chances = chancesOf(fixture, marketMoment);
  return kindsOf(`${town(fixture - 1)} Wanderlings`, `${town(fixture + 6)} Lanterns`).map(
    (kind) => {
      const marketId = `${eventId}-${marketMoment === 'live' ? '' : 'pre-'}${kind.key}`;
      const chanceOf = kind.type === 'UNDER_OVER_HT' ? chances.halfTime : chances.fullTime;
      return {
        createdAt: WRITTEN_AT,
        updatedAt: WRITTEN_AT,
        provider,
        name: kind.name,
        marketId,
        eventId,
        marketMoment,
        marketStatus: 'OPEN',
        marketType: kind.type,
        runners: kind.selections.map(({ key, name, wins, line }) => ({
          runnerId: `${marketId}-${key}`,
          name,
          price: priceOf(chanceOf(wins) * (1 + margin)),
          ...(line !== undefined && { line }),
        })),
        fixtureId: `demo-fixture-${fixture}`,
      };
    },
  );
}

function town(index: number): string {
  return TOWNS[index % TOWNS.length] ?? '';
}

function chancesOf(fixture: number, moment: MarketMoment) {
  const homeGoals = 1.2 + ((fixture * 7 - 1) % 12) / 10;
  const awayGoals = 0.8 + ((fixture * 5) % 11) / 10;
  // A live match is goalless after a quarter of an hour; a bit less than half of all goals fall before half-time.
  const left =
    moment === 'live' ? { fullTime: 0.85, halfTime: 0.3 } : { fullTime: 1, halfTime: 0.45 };
  return {
    fullTime: scoreChances(homeGoals * left.fullTime, awayGoals * left.fullTime),
    halfTime: scoreChances(homeGoals * left.halfTime, awayGoals * left.halfTime),
  };
}
