import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { WindowCounter } from './window-counter.js';

const HOUR = 3_600_000;

let now: number;
let counter: WindowCounter;

beforeEach(() => {
  now = 5_000;
  counter = new WindowCounter(3, { now: () => now });
});

afterEach(() => {
  jest.restoreAllMocks();
});

describe('WindowCounter', () => {
  it('counts each name by itself, in a window that begins with the first', () => {
    expect(counter.add('a')).toEqual({ used: 1, msLeft: 60_000, fits: true });
    now += 10_000;
    expect(counter.add('a', 3)).toEqual({ used: 4, msLeft: 50_000, fits: true });
    expect(counter.add('b')).toEqual({ used: 1, msLeft: 60_000, fits: true });
  });

  it('starts anew when the time it told has passed, and not before', () => {
    counter.add('a');
    now += 60_000;
    expect(counter.add('a')).toEqual({ used: 2, msLeft: 0, fits: true });
    now += 1;
    expect(counter.add('a')).toEqual({ used: 1, msLeft: 60_000, fits: true });
  });

  it('counts nothing where more is used already than may be', () => {
    expect(counter.add('a', 4, 0)).toEqual({ used: 4, msLeft: 60_000, fits: true });
    expect(counter.add('a', 2, 3)).toEqual({ used: 4, msLeft: 60_000, fits: false });
    expect(counter.add('a', 2, 4)).toEqual({ used: 6, msLeft: 60_000, fits: true });
  });

  it('tells the count without counting', () => {
    expect(counter.used('a')).toBe(0);
    counter.add('a');
    expect([counter.used('a'), counter.used('a')]).toEqual([1, 1]);
    now += 60_001;
    expect(counter.used('a')).toBe(0);
  });

  it.each([
    ['forward', HOUR],
    ['back', -HOUR],
  ])('does not heed a wall clock that jumps %s', (_direction, jump) => {
    counter.add('a');
    const wallClock = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(wallClock + jump);
    now += 20_000;
    expect(counter.add('a')).toEqual({ used: 2, msLeft: 40_000, fits: true });
    now += 40_001;
    expect(counter.add('a')).toEqual({ used: 1, msLeft: 60_000, fits: true });
  });

  it('holds a bounded number of names', () => {
    for (let name = 0; name < 1_000; name += 1) counter.add(`n${name}`);
    const names = Array.from({ length: 1_000 }, (_, name) => `n${name}`);
    expect(names.filter((name) => counter.used(name) > 0)).toEqual(['n997', 'n998', 'n999']);
  });
});
