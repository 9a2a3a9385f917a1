import { beforeEach, describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { collectGarbage } from '../../../test/collect-garbage.js';
import { CachedScope } from './cached-scope.js';
import { ChangeHistory } from './change-history.js';
import { HistoryPiece } from './history-piece.js';
import { MarketChange } from './market-change.js';

const at = (seconds: number) => new Timestamp({ t: seconds, i: 1 });
const scope = new CachedScope('eventId:e', at(1), []);
const { key } = scope;

describe('ChangeHistory', () => {
  let history: ChangeHistory;
  const since = (seconds: number) => {
    const ids = history.since(scope, at(seconds));
    return ids && [...ids];
  };

  beforeEach(() => {
    history = new ChangeHistory();
    history.startAt(at(1_000));
    scope.liveSince = undefined;
  });

  it('knows what changed after a position, and nothing of the time before it began', () => {
    history.note(key, 'sa', at(1_001));
    history.note(key, 'sb', at(1_002));
    history.note('eventId:other', 'sc', at(1_003));
    expect([since(1_000), since(1_001), since(1_002)]).toEqual([['sa', 'sb'], ['sb'], []]);
    expect(since(999)).toBeUndefined();
  });

  it('does not know what came before a change of unknown scopes, but of scopes that were live', () => {
    history.note(key, 'sa', at(1_001));
    history.noteChange(new MarketChange({ kind: 'deleted', id: 'b' }, at(1_002)));
    expect(since(1_001)).toBeUndefined();
    expect(since(1_002)).toEqual([]);
    scope.liveSince = at(1_001);
    expect(since(1_001)).toEqual([]);
    expect(since(1_000)).toBeUndefined();
  });

  it.each([
    [1_001, 1_002],
    [1_002, 1_001],
  ])('knows nothing before the later of two changes of unknown scopes: %i, %i', (...seconds) => {
    for (const second of seconds)
      history.noteChange(new MarketChange({ kind: 'deleted', id: 'b' }, at(second)));
    expect(since(1_001)).toBeUndefined();
    expect(since(1_002)).toEqual([]);
  });

  it('begins anew without what it did not know before, in a MongoDB restored from a backup for one', () => {
    history.dropUpTo(at(2_000));
    history.noteChange(new MarketChange({ kind: 'deleted', id: 'b' }, at(2_002)));
    history.startAt(at(1_000));
    history.note(key, 'sa', at(950));
    history.extendTo(at(900));
    expect(since(900)).toEqual(['sa']);
  });

  it('begins earlier once the past is noted, unless something was dropped meanwhile', () => {
    history.note(key, 'sa', at(950));
    history.extendTo(at(900));
    expect(since(900)).toEqual(['sa']);
    history.dropUpTo(at(2_000));
    history.extendTo(at(900));
    expect(since(1_999)).toBeUndefined();
  });

  it('does not begin earlier than what it has dropped because it was old', () => {
    for (const second of [1_001, 1_200, 1_801]) history.note(key, 'sa', at(second));
    history.extendTo(at(900));
    expect(since(1_100)).toBeUndefined();
  });

  it('does not begin earlier for having dropped a part of the past before all of it is noted', () => {
    history.note(key, 'sa', at(400));
    history.note(key, 'sb', at(1_001));
    expect(since(1_000)).toEqual(['sb']);
    expect(since(999)).toBeUndefined();
  });

  it('keeps the newest time of a market, though an earlier change of it is noted later', () => {
    history.note(key, 'sa', at(1_005));
    history.note(key, 'sa', at(950));
    expect([since(1_004), since(1_005)]).toEqual([['sa'], []]);
  });

  it('keeps ten minutes, and says so of itself', () => {
    for (let second = 1_001; second <= 3_000; second += 1)
      history.note(key, `s${second}`, at(second));
    expect(since(2_400)).toHaveLength(600);
    expect(since(1_001)).toBeUndefined();
  });

  it('keeps all of the second in which the ten minutes began, whenever it is asked', () => {
    for (let second = 1_001; second <= 2_000; second += 1) {
      history.note(key, `s${second}`, at(second));
      const beginning = new Timestamp({ t: Math.max(second - 600, 1_001), i: 0 });
      expect(history.since(scope, beginning)).toContain(`s${beginning.t}`);
    }
  });

  it('keeps what came last, however much of the past is noted after it', () => {
    history.note(key, 'live', at(1_001));
    history.note(key, 'recent', at(980));
    history.extendTo(at(970));
    for (let count = 0; count < 60_000; count += 1)
      history.note('eventId:other', `${count}`.padEnd(1_000), at(400 + count / 120));
    history.extendTo(at(400));
    expect(since(970)).toEqual(['live', 'recent']);
    expect(since(401)).toBeUndefined();
  });

  it('weighs changes of many events as what they take', () => {
    const piece = new HistoryPiece(at(1_000));
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let number = 0; number < 10_000; number += 1)
      piece.note(`eventId:${number}`, `s${number}`, at(1_000));
    collectGarbage();
    expect(piece.bytes).toBeGreaterThan(0.75 * (process.memoryUsage().heapUsed - before));
  });

  it('is bounded, whatever changes, and drops no more than it has to', () => {
    const { begin } = history;
    let kept: number | undefined;
    for (let count = 0; count < 400_000; count += 1) {
      history.note(key, `s${count}`, at(1_001 + count / 1e4));
      if (history.begin !== begin) kept ??= since((history.begin?.t ?? 0) + 1)?.length;
    }
    expect(kept).toBeGreaterThan(150_000);
    expect(since(1_001)).toBeUndefined();
    expect(since(1_041)).toEqual([]);
  });
});
