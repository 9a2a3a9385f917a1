import { eventIdOf, EVENTS_PER_FIXTURE, fixtureIdOf, MARKETS_PER_EVENT } from './bench-markets.js';

/** Where a load's requests come from: the path and query of the next one. */
export type NextTarget = () => string;

export const WORKLOADS = ['cold', 'hot'] as const;
export type Workload = (typeof WORKLOADS)[number];

const PATH = '/v1/markets/market';

const POPULAR_EVENTS = 200;

/** The events that everybody asks for, spread over all there are. */
export function popularEvents(markets: number): number[] {
  const events = Math.floor(markets / MARKETS_PER_EVENT);
  const count = Math.min(POPULAR_EVENTS, events);
  return Array.from({ length: count }, (_, index) => Math.floor((index * events) / count));
}

/** Requests in a random order that is the same in every run. */
export function targetsOf(workload: Workload, markets: number, seed: number): NextTarget {
  return workload === 'hot' ? hotTargets(markets, seed) : coldTargets(markets, seed);
}

/** Polling popular events: first page, what is live, all of it, as often each. */
function hotTargets(markets: number, seed: number): NextTarget {
  const targets = popularEvents(markets).flatMap((event) =>
    ['', '?marketMoment=live', '?take=100'].map(
      (query) => `${PATH}/provider/${eventIdOf(event)}${query}`,
    ),
  );
  const random = randomNumbers(seed);
  return () => targets[Math.floor(random() * targets.length)] ?? '';
}

const COLD_DISTINCT_MAX = 4_000_000;

/** Pages of 10 in the mean, most of them full. */
const COLD_QUERIES = [6, 7, 8, 9, 10, 11, 12, 13, 14].flatMap((take) =>
  [1, 2].flatMap((page) =>
    ['', '&marketMoment=live', '&marketMoment=prelive', '&marketType=MATCH_ODDS'].map(
      (filter) => `?page=${page}&take=${take}${filter}`,
    ),
  ),
);

/** A prime, with which the requests that are used are spread evenly over all that are possible. */
const STRIDE = 15_485_863;

/** Look-ups of any event and fixture, out of four million different ones if the data has so many. */
function coldTargets(markets: number, seed: number): NextTarget {
  const events = Math.floor(markets / MARKETS_PER_EVENT);
  const scopes = events + Math.ceil(events / EVENTS_PER_FIXTURE);
  const possible = scopes * COLD_QUERIES.length;
  const distinct = Math.min(COLD_DISTINCT_MAX, possible);
  const random = randomNumbers(seed);
  return () => {
    const request = (Math.floor(random() * distinct) * STRIDE) % possible;
    const scope = request % scopes;
    const query = COLD_QUERIES[Math.floor(request / scopes)] ?? '';
    return scope < events
      ? `${PATH}/provider/${eventIdOf(scope)}${query}`
      : `${PATH}/fixture/${fixtureIdOf(scope - events)}${query}`;
  };
}

/** mulberry32: small, fast, and the same everywhere. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
