import { beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns } from './turns.js';

const RULES = { stretchMs: 5, timesLooking: 3, longestStretchMs: 60 };

let stretches: { readonly looked: number; readonly begunAt: number }[];
let turns: Turns;

beforeEach(() => {
  stretches = [];
  turns = new Turns(RULES, (looked) => stretches.push({ looked, begunAt: performance.now() }));
});

/** Holds the event loop up, as reading sockets does. */
function look(ms: number): void {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt);
}

describe('Turns', () => {
  it('works once after each look', async () => {
    turns.schedule();
    turns.schedule();
    expect(stretches).toHaveLength(0);
    await nextTurn();
    expect(stretches).toHaveLength(1);
    await nextTurn();
    expect(stretches).toHaveLength(1);
  });

  it.each([
    { looking: 0, lasts: RULES.stretchMs },
    { looking: 10, lasts: RULES.timesLooking * 10 },
    { looking: 30, lasts: RULES.longestStretchMs },
  ])('works for $lasts ms after $looking ms of looking', async ({ looking, lasts }) => {
    turns.schedule();
    look(looking);
    await nextTurn();
    const [{ looked, begunAt } = { looked: NaN, begunAt: NaN }] = stretches;
    expect(looked).toBeGreaterThanOrEqual(looking);
    expect(turns.hasTime(begunAt + lasts - 1)).toBe(true);
    const latest = Math.max(RULES.stretchMs, RULES.timesLooking * looked);
    expect(turns.hasTime(begunAt + Math.min(latest, RULES.longestStretchMs))).toBe(false);
  });

  it('counts what is scheduled in a stretch from the end of that', async () => {
    turns.schedule();
    await nextTurn();
    turns.schedule();
    look(10);
    const endedAt = performance.now();
    turns.endStretch(endedAt);
    await nextTurn();
    const [, { looked, begunAt } = { looked: NaN, begunAt: NaN }] = stretches;
    expect(looked).toBeLessThanOrEqual(begunAt - endedAt);
  });

  it('looks once more before it works if it is asked to', async () => {
    turns.schedule();
    turns.lookOnceMore();
    await nextTurn();
    expect(stretches).toHaveLength(0);
    await nextTurn();
    expect(stretches).toHaveLength(1);
  });

  it('looks again at once while new connections come, unless that takes long', async () => {
    // Long enough that a pause of the machine is none of looking.
    const rules = { stretchMs: 600, timesLooking: 3, longestStretchMs: 600 };
    turns = new Turns(rules, (looked) => stretches.push({ looked, begunAt: performance.now() }));
    turns.connected();
    expect(turns.hasTime(performance.now())).toBe(false);
    await nextTurn();
    expect(stretches).toHaveLength(0);
    turns.connected();
    look(rules.stretchMs / rules.timesLooking);
    await nextTurn();
    expect(stretches).toHaveLength(1);
    expect(turns.hasTime(performance.now())).toBe(true);
  });

  it('can be cut short', async () => {
    turns.schedule();
    await nextTurn();
    const now = performance.now();
    turns.cutShort(now);
    expect(turns.hasTime(now)).toBe(false);
  });
});
