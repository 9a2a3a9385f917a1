import { expect, it } from '@jest/globals';
import { MongoNetworkError } from 'mongodb';
import { whyNotConnected } from './mongo-errors.js';

it('says what may be missing where a server ends the connection at once', () => {
  const closed = new MongoNetworkError('connection <monitor> to 10.0.0.1:27017 closed');
  expect(whyNotConnected(closed)).toBe(
    "MongoDB can't be reached: connection <monitor> to 10.0.0.1:27017 closed (it may want TLS, or a client certificate)",
  );
});
