import { Types } from 'mongoose';
import type { Market, MarketMoment, MarketType, Runner } from '../markets/market.schema.js';
import { goalChances, type GoalChances } from './goals.js';

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

interface Fixture {
  readonly number: number;
  readonly home: string;
  readonly away: string;
  /** Goals that each side is expected to score. */
  readonly homeGoals: number;
  readonly awayGoals: number;
}

interface Selection {
  readonly key: string;
  readonly name: string;
  readonly chance: number;
  readonly line?: string;
}

interface Kind {
  readonly key: string;
  readonly type: MarketType;
  readonly name: string;
  readonly selections: (match: Match) => Selection[];
}

interface Match extends Fixture {
  readonly full: GoalChances;
  readonly firstHalf: GoalChances;
}

const KINDS: readonly Kind[] = [
  overUnder(2.5),
  {
    key: 'mo',
    type: 'MATCH_ODDS',
    name: 'Match Odds',
    selections: ({ home, away, full }) => [
      { key: 'home', name: home, chance: full.home },
      { key: 'draw', name: 'Draw', chance: full.draw },
      { key: 'away', name: away, chance: full.away },
    ],
  },
  {
    key: 'btts',
    type: 'BTTS',
    name: 'Both Teams to Score',
    selections: ({ full }) => [
      { key: 'yes', name: 'Yes', chance: full.bothScore },
      { key: 'no', name: 'No', chance: 1 - full.bothScore },
    ],
  },
  {
    key: 'dc',
    type: 'DOUBLE_CHANCE',
    name: 'Double Chance',
    selections: ({ home, away, full }) => [
      { key: '1x', name: `${home} or Draw`, chance: full.home + full.draw },
      { key: '12', name: `${home} or ${away}`, chance: full.home + full.away },
      { key: 'x2', name: `Draw or ${away}`, chance: full.draw + full.away },
    ],
  },
  {
    key: 'uoht',
    type: 'UNDER_OVER_HT',
    name: 'Under/Over Half-Time',
    selections: ({ firstHalf }) => [0.5, 1.5, 2.5].flatMap((line) => goalLine(line, firstHalf)),
  },
  overUnder(1.5),
  overUnder(3.5),
];

function overUnder(line: number): Kind {
  return {
    key: `ou${line * 10}`,
    type: 'OVER_UNDER',
    name: `Over/Under ${line}`,
    selections: ({ full }) => goalLine(line, full),
  };
}

function goalLine(line: number, chances: GoalChances): Selection[] {
  const over = chances.over(line);
  return [
    { key: `over-${line}`, name: `Over ${line}`, chance: over, line: String(line) },
    { key: `under-${line}`, name: `Under ${line}`, chance: 1 - over, line: String(line) },
  ];
}

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
