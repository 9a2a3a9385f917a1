import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Binary, Long, Timestamp } from 'mongodb';
import { HEARD_KEPT_MS, ReadAfterTime } from './read-after-time.js';

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });
/** Later ones of the same second. */
const moment = (count: number) => new Timestamp({ t: 1_000, i: count });
const signature = { hash: new Binary(Buffer.alloc(20)), keyId: Long.ONE };
const signed = (clusterTime: Timestamp) => ({ clusterTime, signature });

describe('what a secondary must have', () => {
  let readAfterTime: ReadAfterTime;
  const least = ({ secondariesNamePrimary = false } = {}) =>
    readAfterTime.minimumForSecondaries(at(1_000), secondariesNamePrimary);

  const failToWrite = (seconds: number) => {
    readAfterTime.advance(signed(at(seconds)));
    jest.advanceTimersByTime(500);
  };
  const leastLater = (newestOnSecondaries: number) => {
    readAfterTime.advance(readAfterTime.newest);
    jest.advanceTimersByTime(1_200);
    return readAfterTime.minimumForSecondaries(at(newestOnSecondaries), true);
  };

  beforeEach(() => {
    jest.useFakeTimers();
    readAfterTime = new ReadAfterTime();
    readAfterTime.advance(signed(at(1_000)));
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('is not known when no server has been heard for a while', () => {
    jest.advanceTimersByTime(1_400);
    expect(least()).toEqual(at(1_000));
    jest.advanceTimersByTime(200);
    expect(least).toThrow(expect.objectContaining({ code: 'database_unavailable' }));
  });

  it('is known of servers that are heard, though they have nothing new to tell', () => {
    for (let heard = 0; heard < 10; heard += 1) {
      jest.advanceTimersByTime(500);
      readAfterTime.advance(signed(at(1_000)));
    }
    expect(least()).toEqual(at(1_000));
  });

  it('is the newest write, where what was known a second ago came before a silence', () => {
    jest.advanceTimersByTime(5_000);
    readAfterTime.advance(signed(at(1_005)));
    expect(readAfterTime.minimumForSecondaries(at(1_005), true)).toEqual(at(1_005));
    jest.advanceTimersByTime(1_100);
    readAfterTime.advance(signed(at(1_006)));
    expect(readAfterTime.minimumForSecondaries(at(1_006), true)).toEqual(at(1_005));
  });

  it('is not known while the newest secondary lacks what was known two seconds ago', () => {
    readAfterTime.advance(signed(new Timestamp({ t: 1_000, i: 2 })));
    for (const seconds of [1_001, 1_002]) {
      jest.advanceTimersByTime(1_000);
      readAfterTime.advance(signed(at(seconds)));
    }
    expect(least).toThrow(expect.objectContaining({ code: 'database_unavailable' }));
  });

  it('is what was known before a quiet time, however far the first write after it is ahead', () => {
    for (const seconds of [1_000, 1_000, 1_000, 1_000, 1_004]) {
      jest.advanceTimersByTime(1_000);
      readAfterTime.advance(signed(at(seconds)));
    }
    expect(least()).toEqual(at(1_000));
  });

  it('is what a primary wrote last, while a secondary knows one, though no secondary has it', () => {
    readAfterTime.advance(signed(at(1_001)));
    jest.advanceTimersByTime(1_200);
    expect(least({ secondariesNamePrimary: true })).toEqual(at(1_001));
    expect(least()).toEqual(at(1_000));
  });

  it('is the last of two writes that were heard one right after the other, while no later one is known', () => {
    jest.advanceTimersByTime(5);
    readAfterTime.advance(signed(at(1_001)));
    jest.advanceTimersByTime(1_400);
    readAfterTime.advance(signed(at(1_002)));
    expect(readAfterTime.knownAt(performance.now() - 150)).toEqual(at(1_001));
  });

  describe('where the clock went on without a write, as by an insert that failed,', () => {
    it('is the last write that the primary told', () => {
      for (const seconds of [1_003, 1_006, 1_009]) {
        failToWrite(seconds);
        readAfterTime.noteNewestWrite(at(1_000));
        jest.advanceTimersByTime(1_000);
      }
      expect(leastLater(1_000)).toEqual(at(1_000));
    });

    it('is that time, if it may have been of a write that was under way', () => {
      readAfterTime.advance(signed(at(1_001)));
      readAfterTime.noteNewestWrite(at(1_000));
      expect(leastLater(1_000)).toEqual(at(1_001));
    });

    it('is that time, if a secondary has a write of a later primary', () => {
      failToWrite(1_002);
      readAfterTime.noteNewestWrite(at(1_000));
      expect(leastLater(1_001)).toEqual(at(1_002));
    });

    it('is the write that came after it', () => {
      readAfterTime.advance(signed(moment(2)));
      jest.advanceTimersByTime(500);
      readAfterTime.noteNewestWrite(at(1_000));
      readAfterTime.advance(signed(moment(3)));
      expect(leastLater(1_000)).toEqual(moment(3));
    });

    it('is no more than what was known a second ago', () => {
      jest.advanceTimersByTime(1_400);
      for (const count of [2, 3]) readAfterTime.advance(signed(moment(count)));
      jest.advanceTimersByTime(500);
      readAfterTime.noteNewestWrite(moment(2));
      expect(readAfterTime.minimumForSecondaries(moment(2), true)).toEqual(at(1_000));
    });
  });

  it('is told by the newest times alone: the others are forgotten', () => {
    for (let seconds = 1_001; seconds <= 1_010; seconds += 1) {
      jest.advanceTimersByTime(1_000);
      readAfterTime.advance(signed(at(seconds)));
    }
    const now = performance.now();
    expect(readAfterTime.knownAt(now - HEARD_KEPT_MS)).toEqual(at(1_008));
    // What was known earlier is not kept.
    expect(readAfterTime.knownAt(now - 3 * HEARD_KEPT_MS)).toEqual(at(1_010));
  });
});

it('keeps few of the times that it hears, from all of the last seconds, however often it hears one', () => {
  jest.useFakeTimers();
  try {
    const readAfterTime = new ReadAfterTime();
    for (let second = 1; second <= 10_000; second += 1) {
      readAfterTime.advance(signed(at(second)));
      if (second % 4 === 0) jest.advanceTimersByTime(1);
    }
    expect(readAfterTime['heard'].length).toBeLessThan(HEARD_KEPT_MS / 5);
    expect(readAfterTime.newest?.clusterTime).toEqual(at(10_000));
    // Four seconds are heard in each millisecond.
    const known = readAfterTime.knownAt(performance.now() - 1_000)?.t ?? 0;
    expect(Math.abs(known - 6_000)).toBeLessThan(100);
  } finally {
    jest.useRealTimers();
  }
});
