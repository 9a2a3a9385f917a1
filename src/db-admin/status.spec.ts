import { expect, it } from '@jest/globals';
import { MongoNetworkError } from 'mongodb';
import type { Connection } from 'mongoose';
import { databaseStatus } from './status.js';

it('fails when MongoDB is lost meanwhile: that does not mean that the user may not see something', async () => {
  const lost = new MongoNetworkError('connection closed');
  const db = { databaseName: 'odds', command: () => Promise.reject(lost) };
  await expect(databaseStatus({ db } as unknown as Connection)).rejects.toBe(lost);
});
