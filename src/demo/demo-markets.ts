import { Types } from 'mongoose';
import type { Market, MarketMoment } from '../markets/market.schema.js';
import { kindsOf } from './demo-kinds.js';

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
  // Matches differ; the first one's odds are those of README.md.
  const edge = ((fixture - 1) % 16) / 100;
  const kinds = kindsOf(`${town(fixture - 1)} Wanderlings`, `${town(fixture + 6)} Lanterns`, edge);
  return kinds.map(({ key: kind, type, name: marketName, selections }) => {
    const marketId = `${eventId}-${marketMoment === 'live' ? '' : 'pre-'}${kind}`;
    return {
      createdAt: WRITTEN_AT,
      updatedAt: WRITTEN_AT,
      provider,
      name: marketName,
      marketId,
      eventId,
      marketMoment,
      marketStatus: 'OPEN',
      marketType: type,
      runners: selections.map(([key, name, chance, line]) => ({
        runnerId: `${marketId}-${key}`,
        name,
        price: priceOf(chance * (1 + margin)),
        ...(line !== undefined && { line }),
      })),
      fixtureId: `demo-fixture-${fixture}`,
    };
  });
}

function town(index: number): string {
  return TOWNS[index % TOWNS.length] ?? '';
}
