import { expect, it } from '@jest/globals';
import type { FeedStatus } from './feed-progress.js';
import { LateLog } from './late-log.js';

const LATE: FeedStatus = { state: 'late', lateBecause: 'majority_lags', ageMs: 3_000 };
const CURRENT: FeedStatus = { state: 'current', ageMs: 10 };

it('says once that the feed stays late, and once that it is current again', () => {
  const said: string[] = [];
  const add = (text: string) => void said.push(text);
  const log = new LateLog({ log: add, warn: add });
  log.note(LATE, 0);
  log.note(CURRENT, 1_900);
  for (const now of [2_000, 3_900]) log.note(LATE, now);
  expect(said).toEqual([]);
  for (const now of [4_000, 5_000]) log.note(LATE, now);
  expect(said).toEqual(['The change feed is late, answers come from MongoDB: majority_lags']);
  for (const now of [5_100, 6_000]) log.note(CURRENT, now);
  expect(said.slice(1)).toEqual(['The change feed is current again']);
});
