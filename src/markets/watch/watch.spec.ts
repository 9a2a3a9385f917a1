import { expect, it } from '@jest/globals';
import { Watch } from './watch.js';

it.each([
  [1, 1],
  [10, 1],
  [11, 2],
  [20, 2],
  [21, 3],
  [50, 5],
])('a watch of %i ids counts as %i requests', (ids, cost) => {
  const scopes = Array.from({ length: ids }, (_, index) => ({ eventId: `event-${index}` }));
  expect(new Watch(scopes, {}).cost).toBe(cost);
});
