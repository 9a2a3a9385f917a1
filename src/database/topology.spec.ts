import { afterEach, expect, it, jest } from '@jest/globals';
import { Long, MongoClient, MongoServerError, Timestamp } from 'mongodb';
import { EventEmitter } from 'node:events';
import { DRIVER_OPTIONS } from './driver-options.js';
import { Topology } from './topology.js';

/** A secondary without priority. */
const PASSIVE = 'passive';

/** What the driver's monitors know of a set with so many members, of which these are reached. */
function descriptionOf(members: number, reached: readonly string[]) {
  const allHosts = Array.from({ length: members }, (_, index) => `member-${index}`);
  const passives = allHosts.filter((_, index) => reached[index] === PASSIVE);
  const servers = new Map(
    allHosts.map((address, index) => {
      const type = reached[index]?.replace(PASSIVE, 'RSSecondary') ?? 'Unknown';
      const isWritable = type === 'RSPrimary' || type === 'Standalone';
      const description = { address, allHosts, passives, type, isWritable };
      return [address, { ...description, primary: 'member-0' }];
    }),
  );
  return { newDescription: { servers } };
}

/** A topology, and the client that tells it what the driver hears. */
function followed() {
  const topology = new Topology();
  const client = new EventEmitter();
  topology.follow(client as MongoClient);
  return { topology, client };
}

afterEach(() => {
  jest.useRealTimers();
});

it.each([
  { members: 3, reached: ['RSPrimary'], readable: true },
  { members: 3, reached: ['RSSecondary'], readable: false },
  { members: 3, reached: ['RSSecondary', 'RSOther'], readable: false },
  { members: 3, reached: ['RSSecondary', 'RSSecondary'], readable: true },
  { members: 3, reached: ['RSSecondary', 'RSArbiter'], readable: true },
  { members: 3, reached: ['RSArbiter', 'RSArbiter'], readable: false },
  // The other may have a majority, with a hidden member.
  { members: 2, reached: ['RSSecondary'], readable: false },
  { members: 4, reached: ['RSSecondary', 'RSSecondary'], readable: false },
  { members: 5, reached: ['RSSecondary', 'RSSecondary'], readable: false },
  // Those without priority may have no vote.
  { members: 5, reached: ['RSSecondary', PASSIVE, PASSIVE], readable: false },
  { members: 5, reached: ['RSSecondary', 'RSSecondary', 'RSSecondary'], readable: true },
  { members: 1, reached: ['Standalone'], readable: true },
  { members: 1, reached: [], readable: false },
])('of $members members $reached can be read: $readable', (each) => {
  const { topology, client } = followed();
  const { members, reached, readable } = each;
  client.emit('topologyDescriptionChanged', descriptionOf(members, reached));
  expect(topology.readable).toBe(readable);
});

it('does not count a delayed member, which others do not list, though the connection string names it', () => {
  const { topology, client } = followed();
  const { newDescription } = descriptionOf(3, ['RSSecondary']);
  const [first] = newDescription.servers.values();
  newDescription.servers.set('delayed', { ...first!, address: 'delayed' });
  client.emit('topologyDescriptionChanged', { newDescription });
  expect(topology.readable).toBe(false);
});

it('reads members that elect nobody no longer than elections take: hidden ones may vote for another', () => {
  jest.useFakeTimers();
  const { topology, client } = followed();
  const { newDescription: named } = descriptionOf(3, ['RSSecondary', 'RSSecondary']);
  const leaderless = new Map(
    [...named.servers].map(([address, server]) => [address, { ...server, primary: null }]),
  );
  const readable = () => topology.readable;
  client.emit('topologyDescriptionChanged', { newDescription: named });
  jest.advanceTimersByTime(100_000);
  expect(readable()).toBe(true);
  client.emit('topologyDescriptionChanged', { newDescription: { servers: leaderless } });
  jest.advanceTimersByTime(25_000);
  expect(readable()).toBe(true);
  jest.advanceTimersByTime(10_000);
  expect(readable()).toBe(false);
  client.emit('topologyDescriptionChanged', { newDescription: named });
  expect(readable()).toBe(true);
});

it.each([
  { members: 3, reached: ['RSPrimary', 'RSSecondary'], hasSnapshots: true },
  { members: 1, reached: ['Standalone'], hasSnapshots: false },
])('of $members members $reached have snapshots: $hasSnapshots', (each) => {
  const { topology, client } = followed();
  client.emit('topologyDescriptionChanged', descriptionOf(each.members, each.reached));
  expect(topology.hasSnapshots).toBe(each.hasSnapshots);
});

it('knows little of what was written while a minority alone was reached', () => {
  jest.useFakeTimers();
  const { topology, client } = followed();
  const hear = (t: number) => {
    const clusterTime = new Timestamp({ t, i: 1 });
    const reply = { $clusterTime: { clusterTime } };
    client.emit('serverHeartbeatSucceeded', { connectionId: 'member-0', reply });
  };
  client.emit('topologyDescriptionChanged', descriptionOf(3, ['RSSecondary']));
  for (let times = 0; times < 10; times += 1) {
    jest.advanceTimersByTime(500);
    hear(1_000);
  }
  hear(1_005);
  client.emit('topologyDescriptionChanged', descriptionOf(3, ['RSSecondary', 'RSSecondary']));
  const newestOf = new Timestamp({ t: 1_005, i: 1 });
  expect(topology.readAfterTime.minimumForSecondaries(newestOf, true)).toEqual(newestOf);
});

it('takes a time for no write that a primary has told beside an earlier newest write', () => {
  jest.useFakeTimers();
  const { topology, client } = followed();
  const [ts, clusterTime] = [1, 2].map((i) => new Timestamp({ t: 1_000, i }));
  const hear = (isWritablePrimary: boolean) => {
    const reply = {
      isWritablePrimary,
      lastWrite: { opTime: { ts } },
      $clusterTime: { clusterTime },
    };
    client.emit('serverHeartbeatSucceeded', { connectionId: 'member-0', reply });
    jest.advanceTimersByTime(600);
  };
  const minimum = () => topology.readAfterTime.minimumForSecondaries(ts, true);
  for (let times = 0; times < 4; times += 1) hear(false);
  expect(minimum()).toEqual(clusterTime);
  hear(true);
  expect(minimum()).toEqual(ts);
});

it.each([
  [[1, 3, 2], 3],
  [[3, undefined, 1], 3],
  [[undefined, 2], 2],
  [[undefined, undefined], undefined],
])('of secondaries that have %j takes the newest write', (seconds, newest) => {
  const { topology, client } = followed();
  const reached = seconds.map(() => 'RSSecondary');
  client.emit('topologyDescriptionChanged', descriptionOf(reached.length, reached));
  seconds.forEach((t, index) => {
    const lastWrite = t && { opTime: { ts: new Timestamp({ t, i: 1 }) } };
    client.emit('serverHeartbeatSucceeded', {
      connectionId: `member-${index}`,
      reply: { lastWrite },
    });
  });
  expect(topology.newestOnSecondaries?.t).toBe(newest);
});

it('knows of a primary that one secondary alone names', () => {
  const { topology, client } = followed();
  const named = ['a:1', null].map((primary, index) => [
    `member-${index}`,
    { type: 'RSSecondary', primary, allHosts: [], passives: [] },
  ]);
  const servers = new Map(named as [string, object][]);
  client.emit('topologyDescriptionChanged', { newDescription: { servers } });
  expect(topology.secondariesNamePrimary).toBe(true);
});

it('tells times that sessions take, though monitors hand their signature over as bytes', () => {
  const { topology, client } = followed();
  const clusterTime = new Timestamp({ t: 5, i: 1 });
  const signature = { hash: new Uint8Array(20), keyId: Long.fromNumber(7) };
  const reply = { $clusterTime: { clusterTime, signature } };
  client.emit('serverHeartbeatSucceeded', { connectionId: 'member-0', reply });
  const session = new MongoClient('mongodb://localhost:1').startSession();
  session.advanceClusterTime(topology.readAfterTime.newest ?? { clusterTime });
  expect(session.clusterTime?.clusterTime).toEqual(clusterTime);
});

it('may read once MongoDB has let it in, and with a new client not before that either', () => {
  const { topology, client } = followed();
  // The driver's monitors need no login.
  client.emit('topologyDescriptionChanged', descriptionOf(1, ['RSPrimary']));
  expect(topology.hasAccess).toBe(false);
  client.emit('connectionReady');
  expect(topology.hasAccess).toBe(true);
  const error = new MongoServerError({ message: 'Authentication failed.', code: 18 });
  const servers = new Map([['member-0', { type: 'Unknown', error }]]);
  client.emit('topologyDescriptionChanged', { newDescription: { servers } });
  client.emit('topologyDescriptionChanged', descriptionOf(1, ['RSPrimary']));
  expect(topology.hasAccess).toBe(false);
  client.emit('connectionReady');
  topology.follow(new EventEmitter() as MongoClient);
  expect(topology.hasAccess).toBe(false);
});

it('warns of no leak, however many reads listen to it at a time', () => {
  expect(new Topology().events.getMaxListeners()).toBe(0);
});

it('tells what each server is, and why it can not be reached', () => {
  const { topology, client } = followed();
  const servers = new Map([
    ['a:27017', { address: 'a:27017', type: 'Unknown', error: new Error('connect ECONNREFUSED') }],
    ['b:27017', { address: 'b:27017', type: 'RSSecondary', allHosts: [], passives: [] }],
  ]);
  client.emit('topologyDescriptionChanged', { newDescription: { servers } });
  expect(topology.summary).toBe('a:27017 Unknown (connect ECONNREFUSED), b:27017 RSSecondary');
});

it('may find a server again until its next heartbeat, and no longer', () => {
  jest.useFakeTimers();
  const { topology, client } = followed();
  for (const reached of [['RSPrimary'], []])
    client.emit('topologyDescriptionChanged', descriptionOf(1, reached));
  jest.advanceTimersByTime(DRIVER_OPTIONS.heartbeatFrequencyMS);
  expect(topology.mayBeReadable).toBe(true);
  jest.advanceTimersByTime(200);
  expect(topology.mayBeReadable).toBe(false);
});
