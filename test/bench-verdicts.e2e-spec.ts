import { expect, it } from '@jest/globals';
import { Timestamp } from 'mongodb';
import { isMet } from '../bench/soak/verdict.js';
import { Judge } from '../bench/watch/truth/judge.js';
import { writeCursor } from '../src/markets/watch/cursor.js';

it('what could not be found out is not met', () => {
  const met = [0, 1, 2, NaN].map((found) => isMet({ what: 'a figure', found, atMost: 1 }));
  expect(met).toEqual([true, true, false, false]);
});

it('a market that a caller lacks is lost', async () => {
  const judge = new Judge('mongodb://127.0.0.1:1/');
  Object.assign(judge, { storedAt: async () => new Map([['e a', 1]]) });
  const cursor = writeCursor({
    position: new Timestamp({ t: 5, i: 1 }),
    watchHash: '00'.repeat(8),
  });
  judge.compare({ eventIds: ['e'], filter: {}, pair: [] }, cursor, new Map());
  await judge.close();
  expect(judge.verdict).toMatchObject({ compared: 1, lost: 1 });
});
