import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { MongoClient } from 'mongodb';
import { EventEmitter } from 'node:events';
import type { Database } from '../database/database.js';
import type { ReadinessService } from '../health/readiness.service.js';
import { Metrics } from './metrics.js';
import { MongodbUp } from './mongodb-up.js';

let topology: { readable: boolean; hasAccess: boolean; summary: string };
let clients: EventEmitter[];

beforeEach(() => {
  jest.useFakeTimers();
  topology = { readable: false, hasAccess: true, summary: 'db:27017 RSSecondary' };
  clients = [new EventEmitter(), new EventEmitter()];
  const onClient = (listener: (client: MongoClient) => void) =>
    clients.forEach((client) => listener(client as unknown as MongoClient));
  const database = { topology, onClient } as unknown as Database;
  void new MongodbUp(database, {} as ReadinessService, new Metrics());
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** What is logged from now on. */
function listen(): unknown[] {
  const said: unknown[] = [];
  for (const level of ['log', 'warn'] as const) {
    jest.spyOn(Logger.prototype, level).mockImplementation((text) => void said.push(text));
  }
  return said;
}

it('says once that MongoDB can be read, and once that it can not, each time and however long it lasts', () => {
  const said = listen();
  for (const readable of [false, true, false, true, false]) {
    topology.readable = readable;
    for (const client of clients) client.emit('topologyDescriptionChanged');
  }
  jest.advanceTimersByTime(10_000);
  const once = ['MongoDB can be read', 'MongoDB cannot be read: db:27017 RSSecondary'];
  expect(said).toEqual([...once, ...once]);
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
    client.emit('connectionReady');
    jest.advanceTimersByTime(10_000);
  }
  expect(said).toEqual(['MongoDB cannot be read: db:27017 RSSecondary']);
});

it('says after a while that MongoDB lets us in, but could never be read, and why', () => {
  const said = listen();
  // Where it does not let us in, that is told elsewhere.
  jest.advanceTimersByTime(10_000);
  expect(said).toEqual([]);
  clients[0]?.emit('connectionReady');
  jest.advanceTimersByTime(10_000);
  expect(said).toEqual(['MongoDB cannot be read: db:27017 RSSecondary']);
});

it('says that MongoDB can be read as soon as a connection shows that it lets us in', () => {
  const said = listen();
  Object.assign(topology, { readable: true, hasAccess: false });
  clients[0]?.emit('topologyDescriptionChanged');
  topology.hasAccess = true;
  clients[0]?.emit('connectionReady');
  expect(said).toEqual(['MongoDB can be read']);
});

it('says nothing more of a MongoDB that can be read again before the reason is looked at once more', () => {
  const said = listen();
  topology.readable = true;
  clients[0]?.emit('connectionReady');
  for (const readable of [false, true]) {
    topology.readable = readable;
    clients[0]?.emit('topologyDescriptionChanged');
  }
  jest.advanceTimersByTime(10_000);
  expect(said.slice(1)).toEqual([
    'MongoDB cannot be read: db:27017 RSSecondary',
    'MongoDB can be read',
  ]);
});

it('says that MongoDB can be read again, though no event told that it could not', () => {
  const said = listen();
  topology.readable = true;
  clients[0]?.emit('connectionReady');
  // A read was refused, and a later one was not.
  topology.hasAccess = false;
  jest.advanceTimersByTime(10_000);
  topology.hasAccess = true;
  clients[0]?.emit('topologyDescriptionChanged');
  expect(said).toEqual([
    'MongoDB can be read',
    'MongoDB cannot be read: db:27017 RSSecondary',
    'MongoDB can be read',
  ]);
});
