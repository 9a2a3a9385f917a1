import { expect, it } from '@jest/globals';
import type { Scope } from '../scope.js';
import { tooMuchData } from './watch-problems.js';

it.each([
  [[2_000], undefined],
  [[1, 2_001], '1'],
  [[2_000, 2_000, 2_000, 2_000, 2_000, 0], undefined],
  [[2_000, 2_000, 2_000, 2_000, 1_999, 2, 0], '5'],
])('names the first id with which there is too much, if any: %j', (sizes, named) => {
  const scopes = sizes.map((_size, index): Scope => `eventId:${index}`);
  const problem = tooMuchData(scopes, (key) => sizes[Number(key.slice('eventId:'.length))]);
  expect(/^eventId "(\d+)"/.exec(problem?.message ?? '')?.[1]).toBe(named);
});
