import { expect, it } from '@jest/globals';
import type { MongoClient } from 'mongodb';
import { EventEmitter } from 'node:events';
import { Topology } from './topology.js';

/** What the driver's monitors know of a set with so many members, of which these are reached. */
function topologyOf(members: number, reached: readonly string[]): Topology {
  const topology = new Topology();
  const client = new EventEmitter();
  topology.follow(client as MongoClient);
  const allHosts = Array.from({ length: members }, (_, index) => `member-${index}`);
  const servers = new Map(
    allHosts.map((address, index) => {
      const type = reached[index] ?? 'Unknown';
      const isWritable = type === 'RSPrimary' || type === 'Standalone';
      return [address, { address, allHosts, type, isWritable, primary: 'member-0' }];
    }),
  );
  client.emit('topologyDescriptionChanged', { newDescription: { servers } });
  return topology;
}

it.each([
  { members: 3, reached: ['RSPrimary'], readable: true },
  { members: 3, reached: ['RSSecondary'], readable: false },
  { members: 3, reached: ['RSSecondary', 'RSOther'], readable: false },
  { members: 3, reached: ['RSSecondary', 'RSSecondary'], readable: true },
  { members: 3, reached: ['RSSecondary', 'RSArbiter'], readable: true },
  { members: 3, reached: ['RSArbiter', 'RSArbiter'], readable: false },
  { members: 2, reached: ['RSSecondary'], readable: true },
  { members: 5, reached: ['RSSecondary', 'RSSecondary'], readable: false },
  { members: 1, reached: ['Standalone'], readable: true },
  { members: 1, reached: [], readable: false },
])('of $members members $reached can be read: $readable', ({ members, reached, readable }) => {
  expect(topologyOf(members, reached).readable).toBe(readable);
});

it('knows of a primary that one secondary alone names', () => {
  const topology = new Topology();
  const client = new EventEmitter();
  topology.follow(client as MongoClient);
  const named = ['a:1', null].map((primary, index) => [
    `member-${index}`,
    { type: 'RSSecondary', primary },
  ]);
  const servers = new Map(named as [string, object][]);
  client.emit('topologyDescriptionChanged', { newDescription: { servers } });
  expect(topology.secondariesNamePrimary).toBe(true);
});
