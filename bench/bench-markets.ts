import { ObjectId } from 'mongodb';
import { MARKET_TYPES, type MarketType } from '../src/markets/market.schema.js';

export const MARKETS_PER_EVENT = 25;
/** So many providers offer each fixture, each as an event of its own. */
export const EVENTS_PER_FIXTURE = 2;

const PROVIDERS = ['Northbook', 'Southbet'];
const CREATED_AT = Date.UTC(2026, 10, 21, 7);

/** The selections of each type, with their line where they have one. */
const SELECTIONS: Readonly<Record<MarketType, readonly (readonly [string, string?])[]>> = {
  BTTS: [['Yes'], ['No']],
  MATCH_ODDS: [['Home'], ['Draw'], ['Away']],
  OVER_UNDER: [
    ['Over 2.5', '2.5'],
    ['Under 2.5', '2.5'],
  ],
  DOUBLE_CHANCE: [['Home or Draw'], ['Home or Away'], ['Draw or Away']],
  UNDER_OVER_HT: ['0.5', '1.5', '2.5'].flatMap((line) => [
    [`Over ${line} HT`, line] as const,
    [`Under ${line} HT`, line] as const,
  ]),
};

export function eventIdOf(event: number): string {
  return `ev-${String(event).padStart(7, '0')}`;
}

export function fixtureIdOf(fixture: number): string {
  return `fx-${String(fixture).padStart(7, '0')}`;
}

/** Ids in the order of their number, so that whoever writes needs no look-up. */
export function marketIdOf(number: number): ObjectId {
  return new ObjectId(number.toString(16).padStart(24, '0'));
}

/** The market of a number, as it is stored: some 600 bytes. */
export function marketOf(number: number) {
  const event = Math.floor(number / MARKETS_PER_EVENT);
  const place = number % MARKETS_PER_EVENT;
  const marketType = MARKET_TYPES[place % MARKET_TYPES.length] ?? 'BTTS';
  const eventId = eventIdOf(event);
  const marketId = `${eventId}-m${place}`;
  const createdAt = new Date(CREATED_AT + number);
  return {
    _id: marketIdOf(number),
    createdAt,
    updatedAt: createdAt,
    provider: PROVIDERS[event % EVENTS_PER_FIXTURE],
    name: `${marketType} ${place}`,
    marketId,
    eventId,
    marketMoment: place % 3 === 0 ? 'live' : 'prelive',
    marketStatus: 'OPEN',
    marketType,
    runners: SELECTIONS[marketType].map(([name, line], index) => ({
      runnerId: `${marketId}-r${index}`,
      name,
      price: 1.01 + ((number * 7 + index * 31) % 900) / 100,
      ...(line && { line }),
    })),
    fixtureId: fixtureIdOf(Math.floor(event / EVENTS_PER_FIXTURE)),
  };
}
