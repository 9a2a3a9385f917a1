import { expect, it, jest } from '@jest/globals';
import { Timestamp } from 'mongodb';
import type { KeyedRequest } from '../../http/api-request.js';
import { overloaded } from '../../http/problem.js';
import { ChangesService } from './changes.service.js';
import { WatchQuestion } from './watch-question.js';
import { Watch } from './watch.js';

it('makes no answer for a key that reads none of those before: each takes time and memory', async () => {
  const groups = jest.fn(() => []);
  const checkRoom = jest.fn(() => {
    throw overloaded();
  });
  const feed = { isCurrent: true, position: new Timestamp({ t: 1, i: 1 }), ageMs: 0 };
  const memory = { hasAll: () => true, groups };
  const parts = [{ prepare: async () => undefined }, feed, memory, {}, { checkRoom }];
  const service = new ChangesService(
    ...(parts as unknown as ConstructorParameters<typeof ChangesService>),
  );
  const question = new WatchQuestion(new Watch(['eventId:a'], {}), undefined, performance.now());
  const answer = service.answer(question, {} as KeyedRequest);
  await expect(answer).rejects.toMatchObject({ code: 'overloaded' });
  expect(groups).not.toHaveBeenCalled();
});
