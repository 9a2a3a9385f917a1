import { expect, it, jest } from '@jest/globals';
import {
  MongoClient,
  MongoServerError,
  MongoServerSelectionError,
  type Db,
  type TopologyDescription,
} from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { testDatabaseUri } from './mongo.js';
import { until } from './until.js';
import { followWithReconnect } from '../src/change-feed/feed-connection.js';

it.each([
  [
    'connections whose login has ended, which would be refused for ever',
    new MongoServerError({ message: 'Command aggregate requires authentication' }),
  ],
  [
    'a client that finds no server: it may have forgotten those of the URI',
    new MongoServerSelectionError('timed out', {} as TopologyDescription),
  ],
])('leaves %s', async (_, error) => {
  const ended = new AbortController();
  const closed = jest.fn();
  const follow = ({ client }: Db) => {
    client.on('topologyClosed', closed);
    return Promise.reject(error);
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

it('leaves no connection open that is made only after the end', async () => {
  const ended = new AbortController();
  const closed = jest.spyOn(MongoClient.prototype, 'close');
  const follow = jest.fn(async () => undefined);
  const following = followWithReconnect(testDatabaseUri(), follow, follow, ended.signal);
  ended.abort();
  await following;
  expect(closed).toHaveBeenCalled();
  closed.mockRestore();
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
