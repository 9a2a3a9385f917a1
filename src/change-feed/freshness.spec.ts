import { describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { Freshness } from './freshness.js';

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });

describe('Freshness', () => {
  it('knows nothing at first', () => {
    expect(new Freshness().ageMs(1_000)).toBe(Infinity);
  });

  it('is as old as the question to which the server had nothing new', () => {
    const freshness = new Freshness();
    freshness.mark(at(7), 900);
    freshness.told(at(7));
    expect(freshness.ageMs(1_000)).toBe(100);
  });

  it('gains nothing from an answer until the stream has got as far as the server was', () => {
    const freshness = new Freshness();
    freshness.mark(at(7), 800);
    freshness.told(at(7));
    freshness.mark(at(9), 900);
    freshness.told(at(8));
    expect(freshness.ageMs(1_000)).toBe(200);
    freshness.told(at(9));
    expect(freshness.ageMs(1_000)).toBe(100);
  });

  it('never goes back', () => {
    const freshness = new Freshness();
    freshness.mark(at(7), 900);
    freshness.mark(at(7), 800);
    freshness.told(at(8));
    expect(freshness.ageMs(1_000)).toBe(100);
  });

  it('knows nothing once it is blind, not even what it was about to learn', () => {
    const freshness = new Freshness();
    freshness.mark(at(7), 800);
    freshness.told(at(7));
    freshness.mark(at(9), 900);
    freshness.blind();
    freshness.told(at(9));
    expect(freshness.ageMs(1_000)).toBe(Infinity);
  });

  it('forgets the oldest of too many marks, which only makes it more careful', () => {
    const freshness = new Freshness();
    for (let time = 1; time <= 1_001; time += 1) freshness.mark(at(time), time);
    freshness.told(at(1));
    expect(freshness.ageMs(2_000)).toBe(Infinity);
    freshness.told(at(2));
    expect(freshness.ageMs(2_000)).toBe(1_998);
  });
});
