import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { MongoServerError, type MongoClient } from 'mongodb';
import { createSocket } from 'node:dgram';
import { getServers, setServers } from 'node:dns';
import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { until } from '../../test/until.js';
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

it('connects anew once at a time, however long MongoDB is away', async () => {
  const database = new Database(new Config());
  jest.spyOn(database.connection, 'getClient').mockReturnValue(clientWith({}));
  const connect = jest
    .spyOn(database, 'connectEventually')
    .mockReturnValue(new Promise(() => undefined));
  void database.logInAgain();
  await setImmediate();
  void database.logInAgain();
  await setImmediate();
  expect(connect).toHaveBeenCalledTimes(1);
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

function described(...types: string[]) {
  return { newDescription: { servers: new Map(types.map((type, at) => [at, { type }])) } };
}

/** A database that is connected by a client, and its client. */
async function connected() {
  jest.useFakeTimers();
  const database = new Database({ ...new Config(), mongodbUri: 'mongodb://a/odds' });
  const { connection } = database;
  const client = new EventEmitter();
  jest.spyOn(connection, 'openUri').mockResolvedValue(connection);
  const current = jest.spyOn(connection, 'getClient').mockReturnValue(client as MongoClient);
  const close = jest.spyOn(connection, 'close').mockResolvedValue(undefined);
  await database.connectEventually();
  return { client, close, current, database };
}

describe('a client that knows no server', () => {
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('is replaced after a while', async () => {
    const { client, close } = await connected();
    client.emit('topologyDescriptionChanged', described('Unknown'));
    jest.advanceTimersByTime(3_000);
    client.emit('topologyDescriptionChanged', described());
    jest.advanceTimersByTime(1_999);
    expect(close).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('is kept where it knows one again, if only as a member that can’t be read', async () => {
    const { client, close } = await connected();
    client.emit('topologyDescriptionChanged', described('Unknown'));
    jest.advanceTimersByTime(3_000);
    client.emit('topologyDescriptionChanged', described('Unknown', 'RSGhost'));
    jest.advanceTimersByTime(9_000);
    expect(close).not.toHaveBeenCalled();
  });

  it('is replaced after a while though it has known one again in the meantime, and lost that, too', async () => {
    const { client, close } = await connected();
    for (const type of ['Unknown', 'RSPrimary', 'Unknown']) {
      client.emit('topologyDescriptionChanged', described(type));
      jest.advanceTimersByTime(3_000);
    }
    expect(close).not.toHaveBeenCalled();
    jest.advanceTimersByTime(2_000);
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('gives way to another only when it can’t be connecting any more: a MongoDB that is away is not stormed', async () => {
    const { client, database } = await connected();
    const connect = jest.spyOn(database, 'connectEventually').mockResolvedValue(undefined);
    client.emit('topologyDescriptionChanged', described());
    jest.advanceTimersByTime(5_000);
    jest.useRealTimers();
    const closedAt = performance.now();
    await until(() => connect.mock.calls.length > 0);
    expect(performance.now() - closedAt).toBeGreaterThan(1_000);
  });

  it('is not replaced when another has taken its place, nor at the end', async () => {
    const { client, close, current, database } = await connected();
    client.emit('topologyDescriptionChanged', described());
    current.mockReturnValue(new EventEmitter() as MongoClient);
    jest.advanceTimersByTime(9_000);
    expect(close).not.toHaveBeenCalled();
    current.mockReturnValue(client as MongoClient);
    client.emit('topologyDescriptionChanged', described('RSPrimary'));
    client.emit('topologyDescriptionChanged', described());
    await database.onApplicationShutdown();
    jest.advanceTimersByTime(9_000);
    expect(close).toHaveBeenCalledTimes(1);
  });
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
