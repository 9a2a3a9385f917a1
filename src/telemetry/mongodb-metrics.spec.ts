import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { MongoClient } from 'mongodb';
import { EventEmitter } from 'node:events';
import type { Database } from '../database/database.js';
import { ReadSlots } from '../database/read-slots.js';
import { Metrics } from './metrics.js';
import { MongodbMetrics } from './mongodb-metrics.js';

const CONNECTION = { address: 'db:27017', connectionId: 1 };

let clients: EventEmitter[];
let metrics: Metrics;

beforeEach(() => {
  jest.useFakeTimers();
  clients = [new EventEmitter(), new EventEmitter()];
  metrics = new Metrics(0);
  const onClient = (listener: (client: MongoClient) => void) =>
    clients.forEach((client) => listener(client as unknown as MongoClient));
  const reads = { slots: new ReadSlots(1) };
  void new MongodbMetrics({ onClient, reads } as unknown as Database, metrics);
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('tells in seconds for how long an operation kept its connection', async () => {
  clients[0]?.emit('connectionCheckedOut', CONNECTION);
  jest.advanceTimersByTime(1_500);
  clients[0]?.emit('connectionCheckedIn', CONNECTION);
  const text = String(await metrics.text());
  expect(text).toContain('mongodb_pool_in_use_seconds_sum 1.5\n');
  // As a rule it takes milliseconds.
  expect(text).toContain('mongodb_pool_in_use_seconds_bucket{le="0.005"} 0\n');
});

it('counts a connection as in use for no longer than that', async () => {
  clients[0]?.emit('connectionCheckedOut', CONNECTION);
  expect(String(await metrics.text())).toContain('mongodb_pool_connections_in_use 1\n');
  clients[0]?.emit('connectionCheckedIn', CONNECTION);
  expect(String(await metrics.text())).toContain('mongodb_pool_connections_in_use 0\n');
});

it('counts the connections of each client to each server, though they have the same numbers', async () => {
  for (const client of clients) client.emit('connectionReady', CONNECTION);
  clients[0]?.emit('connectionReady', { ...CONNECTION, address: 'db-2:27017' });
  expect(String(await metrics.text())).toContain('mongodb_pool_connections 3\n');
  clients[0]?.emit('connectionClosed', CONNECTION);
  expect(String(await metrics.text())).toContain('mongodb_pool_connections 2\n');
});

it('counts no connection that was given up before it was open: the driver may tell no end of it', async () => {
  clients[0]?.emit('connectionCreated', CONNECTION);
  clients[0]?.emit('connectionCreated', { ...CONNECTION, connectionId: 2 });
  clients[0]?.emit('connectionClosed', CONNECTION);
  const text = String(await metrics.text());
  for (const name of ['connections', 'connections_created_total', 'connections_closed_total'])
    expect(text).toContain(`mongodb_pool_${name} 0\n`);
});

it('counts none of a pool that is closed: of those in use then, the driver tells no end', async () => {
  for (const address of ['db:1', 'db:10']) {
    for (const connectionId of [1, 2])
      clients[0]?.emit('connectionReady', { address, connectionId });
    clients[0]?.emit('connectionCheckedOut', { address, connectionId: 1 });
  }
  clients[0]?.emit('connectionClosed', { address: 'db:1', connectionId: 2 });
  clients[0]?.emit('connectionPoolClosed', { address: 'db:1' });
  const text = String(await metrics.text());
  expect(text).toContain('mongodb_pool_connections 2\n');
  expect(text).toContain('mongodb_pool_connections_in_use 1\n');
  expect(text).toContain('mongodb_pool_connections_closed_total 2\n');
});

it('is at most a second old', async () => {
  const rendered = new Metrics();
  const before = await rendered.text();
  jest.advanceTimersByTime(999);
  expect(await rendered.text()).toBe(before);
  jest.advanceTimersByTime(1);
  expect(await rendered.text()).not.toBe(before);
});
