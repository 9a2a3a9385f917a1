import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Redis, ReplyError } from 'ioredis';
import { Config } from '../config.js';
import { RedisConnection } from './redis-connection.js';
import { RequestCounter } from './request-counter.js';

const newConnection = () => new RedisConnection('redis://127.0.0.1:1');

function newCounter() {
  const counter = new RequestCounter(new Config());
  const connection = newConnection();
  counter['redis'] = connection;
  return { counter, client: connection['redis'] };
}

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** How a counter treats its connection when Redis has failed a request so. */
async function cutsAfter(failure: Error) {
  jest.spyOn(Redis.prototype, 'eval').mockRejectedValue(failure);
  const cut = jest.spyOn(Redis.prototype, 'disconnect').mockReturnValue();
  const { counter, client } = newCounter();
  client.status = 'ready';
  // This process counts in its place, and as much.
  counter['inProcess'].add('a key', 3);
  expect(await counter.add('a key', 2, 3)).toMatchObject({ used: 5 });
  return cut;
}

it('connects anew to a Redis that does not answer in time', async () => {
  expect(await cutsAfter(new Error('Command timed out'))).toHaveBeenCalledWith(true);
});

it('closes a connection that answers too slowly once, however many requests wait for it', async () => {
  jest.spyOn(Redis.prototype, 'eval').mockRejectedValue(new Error('Command timed out'));
  const cut = jest.spyOn(Redis.prototype, 'disconnect').mockReturnValue();
  const { counter, client } = newCounter();
  for (const closings of [1, 2]) {
    client.status = 'ready';
    await Promise.all(['a key', 'another'].map(async (id) => counter.add(id, 1, 0)));
    expect(cut).toHaveBeenCalledTimes(closings);
    client.emit('close');
  }
});

it('lets a Redis that refuses keep its connection', async () => {
  expect(await cutsAfter(new ReplyError('OOM command not allowed'))).not.toHaveBeenCalled();
});

it('lets a Redis that has answered keep its connection', async () => {
  jest.spyOn(Redis.prototype, 'eval').mockResolvedValue([1, 60_000, 1]);
  const cut = jest.spyOn(Redis.prototype, 'disconnect').mockReturnValue();
  const { counter } = newCounter();

  expect(await counter.add('a key', 1, 0)).toEqual({ used: 1, msLeft: 60_000, fits: true });
  jest.advanceTimersByTime(60_000);

  expect(cut).not.toHaveBeenCalled();
});

it('says why Redis is away where all addresses of its host refuse, which Node tells of each alone', () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const { counter, client } = newCounter();
  client.emit('error', new AggregateError([new Error('connect ECONNREFUSED')]));
  expect(counter.isRedisAway).toBe(true);
  expect(warn).toHaveBeenCalledWith(expect.stringMatching(/itself: connect ECONNREFUSED$/));
});

it('looks for a Redis that is away once a second at least', () => {
  const { retryStrategy } = newConnection()['redis'].options;
  expect([1, 1_000_000].map((attempt) => retryStrategy?.(attempt))).toEqual([50, 1_000]);
});

it('connects anew to a Redis that has become a replica, but not after any other refusal', () => {
  const { reconnectOnError } = newConnection()['redis'].options;
  const refusals = [
    "READONLY You can't write against a read only replica.",
    'OOM command not allowed',
  ];
  expect(refusals.map((text) => reconnectOnError?.(new Error(text)))).toEqual([true, false]);
});
