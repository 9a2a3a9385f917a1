import { expect, it, jest } from '@jest/globals';
import { MongoServerError, type Db } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { testDatabaseUri } from '../../test/mongo.js';
import { until } from '../../test/until.js';
import { followWithReconnect } from './feed-connection.js';

it('leaves connections whose login has ended, which would be refused for ever', async () => {
  const ended = new AbortController();
  const closed = jest.fn();
  const follow = ({ client }: Db) => {
    client.on('topologyClosed', closed);
    const message = 'Command aggregate requires authentication';
    return Promise.reject(new MongoServerError({ message }));
  };
  const following = followWithReconnect(testDatabaseUri(), follow, () => undefined, ended.signal);
  try {
    await until(() => closed.mock.calls.length > 0, 5_000);
    expect(closed).toHaveBeenCalledTimes(1);
  } finally {
    ended.abort();
    await following;
  }
});

it('tries again after a while, not at once', async () => {
  const ended = new AbortController();
  const failed = jest.fn();
  const following = followWithReconnect(
    testDatabaseUri(),
    () => Promise.reject(new Error('lost')),
    failed,
    ended.signal,
  );
  try {
    await until(() => failed.mock.calls.length > 0, 5_000);
    await delay(100);
    expect(failed).toHaveBeenCalledTimes(1);
  } finally {
    ended.abort();
    await following;
  }
});
