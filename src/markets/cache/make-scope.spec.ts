import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { CachedScope } from './cached-scope.js';
import { makeScope } from './make-scope.js';

it('a load is given up during which more than 10,000 commits came', () => {
  const asOf = new Timestamp({ t: 1, i: 1 });
  const commits = Array.from({ length: 10_001 }, () => ({ changes: [], clusterTime: asOf }));
  const made = (meanwhile: typeof commits) => makeScope('eventId:e', [], asOf, meanwhile);
  expect(made(commits)).toBe('outdated');
  expect(made(commits.slice(1))).toBeInstanceOf(CachedScope);
});
