import { describe, expect, it } from '@jest/globals';
import { connect, type NetConnectOpts } from 'node:net';
import { networkInterfaces } from 'node:os';
import { MongoClient } from 'mongodb';
import { addOne, interrupt, isAlive, mongodPid, ownDataPaths, User } from './embedded-processes.js';

ownDataPaths();

async function answers(where: NetConnectOpts): Promise<boolean> {
  const socket = connect({ ...where, timeout: 1_000 });
  const events = ['connect', 'error', 'timeout'];
  const first = await new Promise((resolve) => {
    events.forEach((event) => socket.once(event, () => resolve(event)));
  });
  socket.destroy();
  return first === 'connect';
}

/** How large oplog and cache may become. Without bounds, they are parts of the disk and of the memory. MiB. */
async function boundsMb(uri: string): Promise<{ oplog: number; cache: number }> {
  const client = await MongoClient.connect(uri);
  try {
    const local = client.db('local');
    const { maxSize } = await local.command({ collStats: 'oplog.rs' });
    const { wiredTiger } = await local.command({ serverStatus: 1 });
    const cacheBytes = wiredTiger.cache['maximum bytes configured'];
    return { oplog: maxSize / 1024 / 1024, cache: cacheBytes / 1024 / 1024 };
  } finally {
    await client.close();
  }
}

async function expectLoopbackOnly(port: number): Promise<void> {
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .map(({ address }) => address);
  expect(await answers({ host: '127.0.0.1', port })).toBe(true);
  for (const host of ['127.0.0.2', '::1', ...others]) {
    expect([host, await answers({ host, port })]).toEqual([host, false]);
  }
  // One of another user's could not be removed, and mongod would not start.
  expect(await answers({ path: `/tmp/mongodb-${port}.sock` })).toBe(false);
}

describe('the embedded MongoDB', () => {
  it('of a server is on loopback, shared with commands, and ends with the server', async () => {
    const server = new User('the server');
    const uri = await server.uri;
    await expectLoopbackOnly(Number(new URL(uri).port));
    const mongod = await mongodPid();
    const command = new User('a command');
    expect(await command.uri).toBe(uri);

    await interrupt(command);
    expect(await addOne(uri)).toBe(1);
    expect(await boundsMb(uri)).toEqual({ oplog: 200, cache: 256 });
    await interrupt(server);
    expect(isAlive(mongod)).toBe(false);
  });
});
