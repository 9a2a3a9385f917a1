import { describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { Moment } from '../common/moment.js';
import { FeedProgress } from './feed-progress.js';

const written = (seconds: number) => new Timestamp({ t: seconds, i: 1 });
const at = (ms: number): Moment => ({ monotonicMs: ms, wallMs: ms });

describe('FeedProgress', () => {
  it('knows nothing at first', () => {
    expect(new FeedProgress().ageMs(at(1_000))).toBe(Infinity);
  });

  it('has been behind, where it never was complete, since it was first asked', () => {
    const progress = new FeedProgress();
    expect(progress.behindMs(at(1_000))).toBe(0);
    progress.mark(written(7), at(700));
    progress.mark(written(8), at(900));
    progress.reached(written(6), written(6));
    expect(progress.behindMs(at(1_000))).toBe(300);
    progress.reached(written(8), written(8));
    expect(progress.behindMs(at(1_000))).toBe(100);
  });

  it('is as old as the question to which the server had nothing new', () => {
    const progress = new FeedProgress();
    progress.mark(written(7), at(900));
    progress.reached(written(7), written(7));
    expect(progress.ageMs(at(1_000))).toBe(100);
  });

  it('gains nothing from an answer until the newest write of then is reached', () => {
    const progress = new FeedProgress();
    progress.mark(written(7), at(800));
    progress.reached(written(7), written(7));
    progress.mark(written(9), at(900));
    progress.reached(written(8), written(8));
    expect(progress.ageMs(at(1_000))).toBe(200);
    progress.reached(written(9), written(9));
    expect(progress.ageMs(at(1_000))).toBe(100);
  });

  it('is as old as the last question of all that it has caught up with', () => {
    const progress = new FeedProgress();
    for (const seconds of [7, 8, 9]) progress.mark(written(seconds), at(100 * seconds));
    progress.reached(written(8), written(8));
    expect(progress.ageMs(at(1_000))).toBe(200);
  });

  it('waits for no time that never became a write', () => {
    const progress = new FeedProgress();
    progress.mark(written(9), at(900));
    progress.mark(written(7), at(950));
    progress.reached(written(7), written(7));
    expect(progress.ageMs(at(1_000))).toBe(50);
  });

  it('learns at once that nothing newer was written than what it has', () => {
    const progress = new FeedProgress();
    progress.reached(written(7), written(7));
    progress.mark(written(7), at(900));
    expect(progress.ageMs(at(1_000))).toBe(100);
  });

  it('is as old as its last proof, not as the last question, while nothing moves on', () => {
    const progress = new FeedProgress();
    progress.mark(written(7), at(0));
    progress.reached(written(7), written(7));
    for (let ms = 1; ms <= 5_000; ms += 1) {
      progress.mark(written(8), at(ms));
      progress.reached(written(7), written(7));
    }
    expect(progress.ageMs(at(5_000))).toBe(5_000);
    progress.reached(written(8), written(8));
    expect(progress.ageMs(at(5_000))).toBe(0);
  });

  it('keeps few marks, however long the follower is behind', () => {
    const progress = new FeedProgress();
    for (let second = 1; second <= 5_000; second += 1) progress.mark(written(second), at(second));
    expect(progress['marks'].length).toBeLessThanOrEqual(1_000);
  });

  it('knows its age nearly, however far the follower is behind', () => {
    const progress = new FeedProgress();
    for (let ms = 0; ms <= 10_000; ms += 1) {
      progress.mark(written(ms), at(ms));
      if (ms >= 5_000) progress.reached(written(ms - 5_000), written(ms - 5_000));
    }
    expect(progress.ageMs(at(10_000))).toBeGreaterThanOrEqual(5_000);
    expect(progress.ageMs(at(10_000))).toBeLessThan(5_500);
  });

  it('is old after a suspend of the machine, in which the monotonic clock stood still', () => {
    const progress = new FeedProgress();
    progress.mark(written(7), at(1_000));
    progress.reached(written(7), written(7));
    expect(progress.ageMs({ monotonicMs: 1_001, wallMs: 61_001 })).toBe(60_001);
  });

  it('is late because a majority lacks what the primary has', () => {
    const progress = new FeedProgress();
    progress.mark(written(7), at(0));
    progress.reached(written(7), written(7));
    progress.mark(written(9), at(1_000));
    expect(progress.majorityLagMs).toBe(1_000);
    expect(progress.status(at(1_001))).toMatchObject({ lateBecause: 'majority_lags' });
  });

  it('is late because of its backlog where a majority has all', () => {
    const progress = new FeedProgress();
    progress.mark(written(7), at(0));
    progress.reached(written(7), written(7));
    progress.mark(written(9), at(1_000));
    progress.reached(written(8), written(9));
    expect(progress.majorityLagMs).toBe(0);
    expect(progress.status(at(1_001))).toMatchObject({ lateBecause: 'backlog' });
  });
});
