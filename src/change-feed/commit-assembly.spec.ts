import { beforeEach, describe, expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { ChangeEvent } from './change.js';
import { CommitAssembly, type CommitEvents } from './commit-assembly.js';

const time = (seconds: number) => new Timestamp({ t: seconds, i: 1 });

function anEvent(seconds: number, id: string, text = ''): ChangeEvent {
  return {
    _id: { _data: id },
    operationType: 'insert',
    clusterTime: time(seconds),
    wallTime: new Date(1_000 * seconds),
    fullDocument: { _id: id, text },
  };
}

const told = (commits: readonly CommitEvents[]) =>
  commits.map(({ events, last }) => ({
    ids: events?.map(({ fullDocument }) => fullDocument?.['_id'] as string),
    goesOnAfter: last._id._data,
  }));

describe('CommitAssembly', () => {
  let assembly: CommitAssembly;

  beforeEach(() => {
    assembly = new CommitAssembly();
  });

  it('has nothing to give at first', () => {
    expect(assembly.add([], time(5))).toEqual([]);
    expect(assembly.pending).toBeUndefined();
  });

  it('holds the last commit of a reply back, since more of it may follow', () => {
    const commits = assembly.add([anEvent(1, 'a'), anEvent(2, 'b')], time(2));
    expect(told(commits)).toEqual([{ ids: ['a'], goesOnAfter: 'a' }]);
    expect(assembly.pending).toEqual(time(2));
  });

  it('joins what comes in several replies', () => {
    expect(assembly.add([anEvent(2, 'b')], time(2))).toEqual([]);
    expect(assembly.add([anEvent(2, 'c')], time(2))).toEqual([]);
    const commits = assembly.add([anEvent(2, 'd'), anEvent(3, 'e')], time(3));
    expect(told(commits)).toEqual([{ ids: ['b', 'c', 'd'], goesOnAfter: 'd' }]);
  });

  it.each([
    ['the stream is beyond it', [anEvent(2, 'b')], time(3)],
    ['nothing more comes', [], time(2)],
  ])('knows a commit whole when %s', (_name, events, streamAt) => {
    assembly.add([anEvent(2, 'a')], time(2));
    const ids = ['a', ...events.map(({ _id }) => _id._data)];
    expect(told(assembly.add(events, streamAt))).toEqual([{ ids, goesOnAfter: ids.at(-1) }]);
    expect(assembly.pending).toBeUndefined();
  });

  it('gives no events of a commit that is too many, and all of the next', () => {
    const many = Array.from({ length: 10_002 }, (_, index) => anEvent(2, `${index}`));
    const commits = assembly.add([...many, anEvent(3, 'f')], time(4));
    expect(told(commits)).toEqual([
      { ids: undefined, goesOnAfter: '10001' },
      { ids: ['f'], goesOnAfter: 'f' },
    ]);
  });

  it('gives all events of the largest commit that can be held', () => {
    const most = Array.from({ length: 10_000 }, (_, index) => anEvent(2, `${index}`));
    expect(told(assembly.add(most, time(3)))[0]?.ids).toHaveLength(10_000);
  });

  it('gives no events of a commit that is too large in several replies', () => {
    const text = 'x'.repeat(17 * 1024 * 1024);
    for (const id of ['a', 'b', 'c']) {
      expect(assembly.add([anEvent(2, id, text)], time(2))).toEqual([]);
    }
    expect(told(assembly.add([], time(2)))).toEqual([{ ids: undefined, goesOnAfter: 'c' }]);
  });

  it('gives all events of commits of which none is too large, however large all are together', () => {
    const text = 'x'.repeat(12 * 1024 * 1024);
    for (const seconds of [2, 3]) {
      for (const id of ['a', 'b', 'c']) assembly.add([anEvent(seconds, id, text)], time(seconds));
      const whole = told(assembly.add([anEvent(seconds, 'd')], time(seconds + 1)));
      expect(whole).toEqual([{ ids: ['a', 'b', 'c', 'd'], goesOnAfter: 'd' }]);
    }
  });

  it('begins anew without what it held', () => {
    assembly.add([anEvent(2, 'a')], time(2));
    assembly.clear();
    expect(assembly.add([], time(9))).toEqual([]);
  });
});
