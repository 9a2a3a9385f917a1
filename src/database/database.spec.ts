import { Logger } from '@nestjs/common';
import { expect, it, jest } from '@jest/globals';
import { MongoServerError, type MongoClient } from 'mongodb';
import { createSocket } from 'node:dgram';
import { getServers, setServers } from 'node:dns';
import { EventEmitter, once } from 'node:events';
import { Config } from '../config.js';
import { SLOW_CONNECTION } from '../common/tell-if-slow.js';
import { Database } from './database.js';

const clientWith = (credentials?: object) =>
  ({ options: { credentials } }) as unknown as MongoClient;

it('logs in anew each time that MongoDB knows it no more, once at a time', async () => {
  const database = new Database(new Config());
  jest.spyOn(database.connection, 'getClient').mockReturnValue(clientWith({}));
  const connect = jest.spyOn(database, 'connectEventually').mockResolvedValue(undefined);
  await Promise.all([database.logInAgain(), database.logInAgain()]);
  expect(connect).toHaveBeenCalledTimes(1);
  // Metrics say that MongoDB is away until it lets us in.
  expect(database.topology.hasAccess).toBe(false);
  await database.logInAgain();
  expect(connect).toHaveBeenCalledTimes(2);
});

it('keeps its connections where MongoDB wants a login and there is none', async () => {
  const database = new Database(new Config());
  jest.spyOn(database.connection, 'getClient').mockReturnValue(clientWith());
  const connect = jest.spyOn(database, 'connectEventually').mockResolvedValue(undefined);
  database.topology.hasAccess = true;
  await database.logInAgain();
  expect(connect).not.toHaveBeenCalled();
  expect(database.topology.hasAccess).toBe(false);
});

it('says once that MongoDB is away, a warning, and that it refuses the service, an error', async () => {
  const database = new Database({ ...new Config(), mongodbUri: 'mongodb://a/odds' });
  const { connection } = database;
  jest.spyOn(connection, 'getClient').mockReturnValue(new EventEmitter() as MongoClient);
  jest
    .spyOn(connection, 'openUri')
    .mockRejectedValueOnce(new Error('away'))
    .mockRejectedValueOnce(new Error('away'))
    .mockRejectedValueOnce(new MongoServerError({ message: 'Authentication failed.' }))
    .mockResolvedValueOnce(connection);
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  await database.connectEventually();
  expect(warn.mock.calls).toEqual([["MongoDB can't be reached: away"]]);
  expect(error.mock.calls).toEqual([['MongoDB refuses us: Authentication failed.']]);
  jest.restoreAllMocks();
});

it('says that no name server answers for the host of a mongodb+srv string', async () => {
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  await once(silent, 'listening');
  const before = getServers();
  setServers([`127.0.0.1:${silent.address().port}`]);
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const database = new Database({ ...new Config(), mongodbUri: 'mongodb+srv://odds.example/x' });
  let connecting: Promise<void> | undefined;
  try {
    const asked = once(silent, 'message');
    jest.useFakeTimers();
    connecting = database.connectEventually();
    await asked;
    jest.advanceTimersByTime(4_999);
    expect(warn).not.toHaveBeenCalled();
    jest.advanceTimersByTime(20_000);
    expect(warn.mock.calls).toEqual([[SLOW_CONNECTION]]);
  } finally {
    jest.useRealTimers();
    setServers(before);
    silent.close();
    await database.onApplicationShutdown();
    await connecting;
    jest.restoreAllMocks();
  }
});
