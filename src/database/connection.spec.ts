import { expect, it, jest } from '@jest/globals';
import { createConnection } from 'mongoose';
import { openConnection } from './connection.js';

it('is made as its user wants it: a command opens no connections beforehand', async () => {
  const connection = createConnection();
  const open = jest.spyOn(connection, 'openUri').mockResolvedValue(connection);
  await openConnection(connection, 'mongodb://a/odds', { minPoolSize: 0 });
  expect(open.mock.calls[0]?.[1]).toMatchObject({ dbName: 'odds', minPoolSize: 0 });
  await openConnection(connection, 'mongodb://a/odds');
  expect(open.mock.calls[1]?.[1]?.minPoolSize).toBeGreaterThan(0);
});
