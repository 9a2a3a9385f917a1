import { beforeEach, describe, expect, it } from '@jest/globals';
import { Places } from './places.js';

const RULES = {
  always: 2,
  burst: 10,
  most: 20,
  periodMs: 50,
  periods: 3,
  answeredInMs: 100,
  leaving: 0.1,
  doublesInMs: 1_000,
};

let places: Places;
let now: number;

beforeEach(() => {
  places = new Places(RULES);
  now = 0;
  places.forWaiting(now, { waiting: 0, underWay: 0 });
});

const allowed = ({ waiting = 1, underWay = 0 } = {}) =>
  places.forWaiting(now, { waiting, underWay });

/** A period in which some wait all the time. */
function aPeriod({ served = 0, left = 0, leftAfterMs = 0, ms = RULES.periodMs } = {}): void {
  now += ms;
  for (let count = 0; count < served; count++) places.countServed();
  for (let count = 0; count < left; count++) places.countLeft(now - leftAfterMs, now);
}

/** What is allowed after such periods. */
function after(...periods: Parameters<typeof aPeriod>[0][]): number {
  for (const period of periods) {
    aPeriod(period);
    allowed();
  }
  return allowed();
}

describe('Places', () => {
  it('lets a burst wait for two periods', () => {
    expect(allowed()).toBe(10);
    expect(after({ served: 2 })).toBe(10);
    expect(after({ served: 2, ms: 49 })).toBe(10);
    expect(after({ served: 1, ms: 1 })).toBe(6);
  });

  it('then lets as many wait as are served in time', () => {
    expect(after({ served: 2 }, { served: 2 })).toBe(4);
  });

  it('counts those who are being served', () => {
    after({ served: 4 });
    aPeriod({ served: 4 });
    expect(allowed({ underWay: 3 })).toBe(5);
  });

  it('takes the best of the last periods', () => {
    expect(after({ served: 4 }, { served: 2 }, { served: 2 })).toBe(8);
    expect(after({ served: 2 })).toBe(4);
  });

  it('lets a few wait however slow it goes, and so many however fast', () => {
    expect(after({}, {})).toBe(2);
    expect(after({ served: 1_000 })).toBe(20);
  });

  it('remembers how many it could serve when the queue has passed', () => {
    after({ served: 8 }, { served: 8 });
    expect(allowed({ waiting: 0 })).toBe(16);
    expect(after({ served: 1, ms: 49 })).toBe(16);
  });

  it('lets a burst wait again once the queue has passed', () => {
    expect(after({ served: 1 }, { served: 1 })).toBe(2);
    expect(allowed({ waiting: 0 })).toBe(10);
  });

  it('does not count what was served before somebody waited', () => {
    after({ served: 2 });
    for (let count = 0; count < 100; count++) places.countServed();
    allowed({ waiting: 0 });
    expect(after({ served: 2 })).toBe(4);
  });

  describe('when callers leave', () => {
    const leaving = { served: 8, left: 2, leftAfterMs: 40 };

    it('halves the time that they waited', () => {
      expect(after({ served: 8 }, leaving)).toBe(4);
    });

    it('minds it only if they are many', () => {
      expect(after({ served: 8 }, { served: 10, left: 1, leftAfterMs: 40 })).toBe(20);
    });

    it('does not hold it against those who wait less now', () => {
      after({ served: 8 }, leaving);
      expect(after({ served: 8, left: 8, leftAfterMs: RULES.periodMs + 1 })).toBe(4);
    });

    it('tries longer times again by and by', () => {
      after({ served: 8 }, leaving);
      expect(after({ served: 8, ms: RULES.doublesInMs })).toBe(7);
    });

    it('never goes beyond the time of all', () => {
      after({ served: 8 }, leaving);
      expect(after({ served: 8, ms: 10 * RULES.doublesInMs }, { served: 8 }, { served: 8 })).toBe(
        16,
      );
    });
  });
});
