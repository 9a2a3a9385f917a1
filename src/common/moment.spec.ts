import { describe, expect, it } from '@jest/globals';
import { elapsedMs, momentNow, type Moment } from './moment.js';

const at = (monotonicMs: number, wallMs: number): Moment => ({ monotonicMs, wallMs });

describe('elapsedMs', () => {
  it.each([
    ['both clocks go on', at(1_300, 5_300), 300],
    ['the machine was suspended', at(1_300, 65_300), 60_300],
    ['the wall clock was set ahead', at(1_300, 3_605_300), 3_600_300],
    ['the wall clock was set back', at(1_300, -3_594_700), 300],
  ])('counts the larger advance when %s', (_name, now, elapsed) => {
    expect(elapsedMs(at(1_000, 5_000), now)).toBe(elapsed);
  });

  it('is about nothing just now', () => {
    const elapsed = elapsedMs(momentNow());
    expect(elapsed).toBeGreaterThanOrEqual(0);
    expect(elapsed).toBeLessThan(10_000);
  });
});
