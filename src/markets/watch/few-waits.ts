import { HTTP_LIMITS } from '../../http/http-limits.js';

const WAITS_MAX = HTTP_LIMITS.inFlight / 2;

/** Lets half of the requests in flight wait for one thing: the other places are for those that need not wait. */
export class FewWaits {
  private waits = 0;

  get isFull(): boolean {
    return this.waits >= WAITS_MAX;
  }

  async count<Result>(wait: Promise<Result>): Promise<Result> {
    this.waits += 1;
    try {
      return await wait;
    } finally {
      this.waits -= 1;
    }
  }
}
