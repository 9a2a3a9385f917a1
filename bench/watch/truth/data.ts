import { randomInt } from 'node:crypto';
import { eventIdOf, marketIdOf, MARKETS_PER_EVENT } from '../../bench-markets.js';

export const EVENTS = 24;
export const MARKETS = EVENTS * MARKETS_PER_EVENT;

/** The first markets of an even event and of the one behind it change in one transaction, and in no other way. */
export function pairOf(event: number) {
  return [event, event + 1].map((each) => marketIdOf(each * MARKETS_PER_EVENT));
}

export function isOfPair(number: number): boolean {
  return number % MARKETS_PER_EVENT === 0;
}

export function randomPair(): number {
  return 2 * randomInt(EVENTS / 2);
}

export function randomEventId(): string {
  return eventIdOf(randomInt(EVENTS));
}
