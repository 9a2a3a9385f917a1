import { LRUCache } from 'lru-cache';
import { REPLACEMENT_CHARACTER } from './id-order.js';

/** A scope is loaded when it is asked for again this soon, so that one-time look-ups don't push out popular ones. */
const ASKED_AGAIN_WITHIN_MS = 60_000;

/** The usual size of a scope. As many are noted as asked for as would fit into memory. */
const USUAL_SCOPE_KB = 48;

/** A scope that is not fit for memory is not tried again for so long. */
const UNFIT_FOR_MS = 60_000;
const UNFIT_MAX = 10_000;

/** Which scopes are worth loading: asked for again, and fit for memory as far as is known. */
export class LoadCandidates {
  private readonly asked: LRUCache<string, true>;
  private readonly unfit = new LRUCache<string, true>({ max: UNFIT_MAX, ttl: UNFIT_FOR_MS });

  constructor(cacheMaxMb: number) {
    const max = Math.ceil((cacheMaxMb * 1024) / USUAL_SCOPE_KB) + 1;
    this.asked = new LRUCache({ max, ttl: ASKED_AGAIN_WITHIN_MS });
  }

  /** Notes that a scope is asked for, and says whether it should be loaded for that. */
  ask(key: string): boolean {
    if (this.unfit.has(key) || key.includes(REPLACEMENT_CHARACTER)) return false;
    if (this.asked.has(key)) return true;
    this.asked.set(key, true);
    return false;
  }

  /** A scope was found unfit: MongoDB answers for a while. */
  leaveToMongodb(key: string): void {
    this.unfit.set(key, true);
  }
}
