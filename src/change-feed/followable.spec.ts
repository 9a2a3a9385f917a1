import { expect, it, jest } from '@jest/globals';
import type { Db } from 'mongodb';
import { requirePlainCollections } from './followable.js';

it('finds out what is plain with no other privilege than to read it', async () => {
  const listCollections = jest.fn((..._asked: unknown[]) => ({ toArray: async () => [] }));
  await requirePlainCollections(['markets'], { listCollections } as unknown as Db);
  const options = { nameOnly: true, authorizedCollections: true };
  expect(listCollections).toHaveBeenCalledWith(expect.anything(), options);
});

it('looks again for those names alone that are free: it is asked with each reply', async () => {
  const found = [{ name: 'markets', type: 'collection' }];
  const listCollections = () => ({ toArray: async () => found });
  const free = await requirePlainCollections(['markets', 'api_keys'], { listCollections } as never);
  expect(free).toEqual(['api_keys']);
});
