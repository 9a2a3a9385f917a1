import { expect, it, jest } from '@jest/globals';
import type { Db } from 'mongodb';
import type { ChangeEvent } from './change.js';
import { mayChangeKinds, requirePlainCollections } from './followable.js';

it('finds out what is plain with no other privilege than to read it', async () => {
  const listCollections = jest.fn((..._asked: unknown[]) => ({ toArray: async () => [] }));
  await requirePlainCollections(['markets'], { listCollections } as unknown as Db);
  const options = { nameOnly: true, authorizedCollections: true };
  expect(listCollections).toHaveBeenCalledWith(expect.anything(), options);
});

it('looks for other kinds of collections after no change of documents: nearly each reply has some', () => {
  const types = ['insert', 'update', 'replace', 'delete'];
  const ofDocuments = types.map((operationType) => ({ operationType, documentKey: { _id: 1 } }));
  const events = [...ofDocuments, { operationType: 'rename' }] as unknown as ChangeEvent[];
  expect(mayChangeKinds(events.slice(0, -1))).toBe(false);
  expect(mayChangeKinds(events)).toBe(true);
});

it('looks again for those names alone that are free: it is asked with each reply', async () => {
  const found = [{ name: 'markets', type: 'collection' }];
  const listCollections = () => ({ toArray: async () => found });
  const free = await requirePlainCollections(['markets', 'api_keys'], { listCollections } as never);
  expect(free).toEqual(['api_keys']);
});
