import { execFileSync } from 'node:child_process';
import { eventIdOf, MARKETS_PER_EVENT } from '../bench-markets.js';
import type { Stage } from '../scale/stage.js';

/** What each measurement gets. */
export interface Setting {
  /** A replica set of one, with markets. */
  readonly stage: Stage;
  /** How many changes the truth is tried with. */
  readonly changes: number;
  /** Seconds between two faults of that trial. */
  readonly faultEveryS: number;
  readonly say: (line: string) => void;
}

/** Events that markets are seeded for. */
export const SEEDED_EVENTS = 2_000;

/** Paths of streams, spread evenly over the first events. */
export function streamPaths(streams: number, events: number, idsEach = 1): string[] {
  return Array.from({ length: streams }, (_, index) => {
    const ids = Array.from({ length: idsEach }, (__, place) => (index * idsEach + place) % events);
    return `/v1/markets/stream?${ids.map((event) => `eventId=${eventIdOf(event)}`).join('&')}`;
  });
}

/** Numbers of all markets of the first events, in an order in which neighbours are of different events. */
export function marketsOf(events: number): number[] {
  return Array.from(
    { length: events * MARKETS_PER_EVENT },
    (_, index) => (index % events) * MARKETS_PER_EVENT + Math.floor(index / events),
  );
}

const STREAMS_WANTED = 5_000;
/** Open files of a process that are no streams. */
const OTHER_FILES = 300;

/** How many streams a process may hold here: each is an open file, on either side. */
export function streamsPossible(): number {
  const limit = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }));
  return Number.isNaN(limit) ? STREAMS_WANTED : Math.min(STREAMS_WANTED, limit - OTHER_FILES);
}
