import { LRUCache } from 'lru-cache';
import { isComparable } from './id-order.js';

/**
 * A scope is loaded from the third request on, each within a minute of the one before. To load one costs as much as
 * many pages; and where look-ups are spread over the whole database, some scopes are asked for twice by chance.
 */
export const LOADED_AT_ASK = 3;
const NOTED_FOR_MS = 60_000;

/** The usual size of a scope: as many scopes are counted as would fit into memory at this size. */
const USUAL_SCOPE_KB = 48;

/** Noted in place of a count. */
const UNFIT = -1;

/** Which scopes are worth loading: asked for again, and fit for memory as far as is known. */
export class LoadCandidates {
  private readonly asked: LRUCache<string, number>;

  constructor(cacheMaxMb: number) {
    const max = Math.ceil((cacheMaxMb * 1024) / USUAL_SCOPE_KB) + 1;
    this.asked = new LRUCache({ max, ttl: NOTED_FOR_MS });
  }

  /** Notes that a scope is asked for, and says whether it should be loaded for that. */
  ask(key: string): boolean {
    const times = this.asked.get(key) ?? 0;
    if (times === UNFIT || !isComparable(key)) return false;
    this.asked.set(key, times + 1);
    return times + 1 >= LOADED_AT_ASK;
  }

  /** A scope was found unfit: MongoDB answers for a while. */
  leaveToMongodb(key: string): void {
    this.asked.set(key, UNFIT);
  }
}
