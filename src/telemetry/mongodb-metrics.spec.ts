import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { MongoClient } from 'mongodb';
import { EventEmitter } from 'node:events';
import type { Database } from '../database/database.js';
import { ReadSlots } from '../database/read-slots.js';
import { Metrics } from './metrics.js';
import { MongodbMetrics } from './mongodb-metrics.js';
import { MongodbUp } from './mongodb-up.js';

const CONNECTION = { address: 'db:27017', connectionId: 1 };

let topology: { readable: boolean; mayRead: boolean; summary: string };
let clients: EventEmitter[];
let metrics: Metrics;

beforeEach(() => {
  jest.useFakeTimers();
  topology = { readable: false, mayRead: true, summary: 'db:27017 RSSecondary' };
  clients = [new EventEmitter(), new EventEmitter()];
  metrics = new Metrics(0);
  const onClient = (listener: (client: MongoClient) => void) =>
    clients.forEach((client) => listener(client as unknown as MongoClient));
  const slots = new ReadSlots(1);
  const database = { topology, onClient, slots } as unknown as Database;
  void [new MongodbMetrics(database, metrics), new MongodbUp(database, metrics)];
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('tells in seconds for how long an operation kept its connection', async () => {
  clients[0]?.emit('connectionCheckedOut', CONNECTION);
  jest.advanceTimersByTime(1_500);
  clients[0]?.emit('connectionCheckedIn', CONNECTION);
  expect(String(await metrics.text())).toContain('mongodb_pool_in_use_seconds_sum 1.5\n');
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

it('is at most a second old', async () => {
  const rendered = new Metrics();
  const before = await rendered.text();
  jest.advanceTimersByTime(999);
  expect(await rendered.text()).toBe(before);
  jest.advanceTimersByTime(1);
  expect(await rendered.text()).not.toBe(before);
});

/** What is logged from now on. */
function listen(): unknown[] {
  const said: unknown[] = [];
  for (const level of ['log', 'warn'] as const) {
    jest.spyOn(Logger.prototype, level).mockImplementation((text) => void said.push(text));
  }
  return said;
}

it('says once that MongoDB can be read, and once that it can not, however long it lasts', () => {
  const said = listen();
  for (const readable of [false, true, false]) {
    topology.readable = readable;
    for (const client of clients) client.emit('topologyDescriptionChanged');
  }
  jest.advanceTimersByTime(10_000);
  expect(said).toEqual(['MongoDB can be read', 'MongoDB cannot be read: db:27017 RSSecondary']);
});

it('says once more why MongoDB can not be read, where that shows a moment later', () => {
  const said = listen();
  topology.readable = true;
  clients[0]?.emit('topologyDescriptionChanged');
  Object.assign(topology, { readable: false, summary: 'db:27017 Unknown (closed)' });
  clients[0]?.emit('topologyDescriptionChanged');
  topology.summary = 'db:27017 Unknown (certificate has expired)';
  jest.advanceTimersByTime(10_000);
  expect(said.slice(1)).toEqual([
    'MongoDB cannot be read: db:27017 Unknown (closed)',
    'MongoDB cannot be read: db:27017 Unknown (certificate has expired)',
  ]);
});

it('says no reason twice, however many clients find it', () => {
  const said = listen();
  for (const client of clients) {
    client.emit('connectionReady', CONNECTION);
    jest.advanceTimersByTime(10_000);
  }
  expect(said).toEqual(['MongoDB cannot be read: db:27017 RSSecondary']);
});

it('says after a while that MongoDB lets us in, but could never be read, and why', () => {
  const said = listen();
  // Where it does not let us in, that is told elsewhere.
  jest.advanceTimersByTime(10_000);
  expect(said).toEqual([]);
  clients[0]?.emit('connectionReady', CONNECTION);
  jest.advanceTimersByTime(10_000);
  expect(said).toEqual(['MongoDB cannot be read: db:27017 RSSecondary']);
});

it('says that MongoDB can be read as soon as a connection shows that it lets us in', () => {
  const said = listen();
  Object.assign(topology, { readable: true, mayRead: false });
  clients[0]?.emit('topologyDescriptionChanged');
  topology.mayRead = true;
  clients[0]?.emit('connectionReady', CONNECTION);
  expect(said).toEqual(['MongoDB can be read']);
});
