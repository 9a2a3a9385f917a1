import { describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { Moment } from '../common/moment.js';
import { Freshness } from './freshness.js';

const written = (seconds: number) => new Timestamp({ t: seconds, i: 1 });
const at = (ms: number): Moment => ({ monotonicMs: ms, wallMs: ms });

describe('Freshness', () => {
  it('knows nothing at first', () => {
    expect(new Freshness().ageMs(at(1_000))).toBe(Infinity);
  });

  it('is as old as the question to which the server had nothing new', () => {
    const freshness = new Freshness();
    freshness.mark(written(7), at(900));
    freshness.reached(written(7));
    expect(freshness.ageMs(at(1_000))).toBe(100);
  });

  it('gains nothing from an answer until the newest write of then is reached', () => {
    const freshness = new Freshness();
    freshness.mark(written(7), at(800));
    freshness.reached(written(7));
    freshness.mark(written(9), at(900));
    freshness.reached(written(8));
    expect(freshness.ageMs(at(1_000))).toBe(200);
    freshness.reached(written(9));
    expect(freshness.ageMs(at(1_000))).toBe(100);
  });

  it('waits for no time that never became a write', () => {
    const freshness = new Freshness();
    freshness.mark(written(9), at(900));
    freshness.mark(written(7), at(950));
    freshness.reached(written(7));
    expect(freshness.ageMs(at(1_000))).toBe(50);
  });

  it('learns at once that nothing newer was written than what it has', () => {
    const freshness = new Freshness();
    freshness.reached(written(7));
    freshness.mark(written(7), at(900));
    expect(freshness.ageMs(at(1_000))).toBe(100);
  });

  it('is as old as its last proof, not as the last question, while nothing moves on', () => {
    const freshness = new Freshness();
    freshness.mark(written(7), at(0));
    freshness.reached(written(7));
    for (let ms = 1; ms <= 5_000; ms += 1) {
      freshness.mark(written(8), at(ms));
      freshness.reached(written(7));
    }
    expect(freshness.ageMs(at(5_000))).toBe(5_000);
    freshness.reached(written(8));
    expect(freshness.ageMs(at(5_000))).toBe(0);
  });

  it('knows its age nearly, however far the follower is behind', () => {
    const freshness = new Freshness();
    for (let ms = 0; ms <= 10_000; ms += 1) {
      freshness.mark(written(ms), at(ms));
      if (ms >= 5_000) freshness.reached(written(ms - 5_000));
    }
    expect(freshness.ageMs(at(10_000))).toBeGreaterThanOrEqual(5_000);
    expect(freshness.ageMs(at(10_000))).toBeLessThan(5_500);
  });

  it('is old after a suspend of the machine, in which the monotonic clock stood still', () => {
    const freshness = new Freshness();
    freshness.mark(written(7), at(1_000));
    freshness.reached(written(7));
    expect(freshness.ageMs({ monotonicMs: 1_001, wallMs: 61_001 })).toBe(60_001);
  });
});
