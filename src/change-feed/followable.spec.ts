import { expect, it, jest } from '@jest/globals';
import type { Db } from 'mongodb';
import { requirePlainCollections } from './followable.js';

it('finds out what is plain with no other privilege than to read it', async () => {
  const listCollections = jest.fn((..._asked: unknown[]) => ({ toArray: async () => [] }));
  await requirePlainCollections(['markets'], { listCollections } as unknown as Db);
  const options = { nameOnly: true, authorizedCollections: true };
  expect(listCollections).toHaveBeenCalledWith(expect.anything(), options);
});
