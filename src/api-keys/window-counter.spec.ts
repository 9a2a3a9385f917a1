import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { WindowCounter } from './window-counter.js';

const HOUR = 3_600_000;

let now: number;
let counter: WindowCounter;

beforeEach(() => {
  now = 5_000;
  counter = new WindowCounter({ windowMs: 60_000, maxNames: 3, clock: { now: () => now } });
});

afterEach(() => {
  jest.restoreAllMocks();
});

async function count(name: string): Promise<[used: number, msLeft: number]> {
  const { consumedPoints, msBeforeNext } = await counter.penalty(name);
  return [consumedPoints, msBeforeNext];
}

describe('WindowCounter', () => {
  it('counts each name by itself, in a window that begins with the first', async () => {
    expect(await count('a')).toEqual([1, 60_000]);
    now += 10_000;
    expect(await count('a')).toEqual([2, 50_000]);
    expect(await count('b')).toEqual([1, 60_000]);
  });

  it('starts anew when the time it told has passed, and not before', async () => {
    await count('a');
    now += 60_000;
    expect(await count('a')).toEqual([2, 0]);
    now += 1;
    expect(await count('a')).toEqual([1, 60_000]);
  });

  it('tells the count without counting', async () => {
    expect(await counter.get('a')).toBeNull();
    await count('a');
    now += 1_000;
    expect(await counter.get('a')).toMatchObject({ consumedPoints: 1, msBeforeNext: 59_000 });
    now += 60_000;
    expect(await counter.get('a')).toBeNull();
  });

  it.each([
    ['forward', HOUR],
    ['back', -HOUR],
  ])('does not heed a wall clock that jumps %s', async (_direction, jump) => {
    await count('a');
    const wallClock = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(wallClock + jump);
    now += 20_000;
    expect(await count('a')).toEqual([2, 40_000]);
    now += 40_001;
    expect(await count('a')).toEqual([1, 60_000]);
  });

  it('holds a bounded number of names', async () => {
    for (let name = 0; name < 1_000; name += 1) await count(`n${name}`);
    expect(counter.dump().storage).toHaveLength(3);
  });
});
