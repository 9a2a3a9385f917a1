import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { onMember, setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { until } from './until.js';
import { formReplicaSet } from '../src/embedded-mongod/replica-set.js';

let mongod: TestMongod;

beforeAll(async () => {
  mongod = await TestMongod.start();
});

afterAll(() => mongod.stop());

/** Cuts the connection in place of an answer to commands of that name. */
function cut(command: string, times: number): Promise<void> {
  return setFailCommand(mongod, { times }, { failCommands: [command], closeConnection: true }, '');
}

it.each(['replSetInitiate', 'replSetGetConfig', 'ping'])(
  'asks once more when its connection is cut at %s',
  async (command) => {
    await cut(command, 1);
    expect(await formReplicaSet('test', mongod.ports)).toBe(
      `mongodb://127.0.0.1:${mongod.ports[0]}/?replicaSet=test`,
    );
  },
);

it('leaves no connection behind that it was made by', async () => {
  const client = new MongoClient(mongod.memberUri());
  const taken = async () =>
    (await client.db('admin').command({ serverStatus: 1 }))['connections'].current as number;
  try {
    await client.connect();
    const before = await taken();
    for (let count = 0; count < 5; count += 1) await formReplicaSet('test', mongod.ports);
    await until(async () => (await taken()) <= before + 2, 5_000);
  } finally {
    await client.close();
  }
});

it('a mongod that logs much goes on answering: what it logs is read', async () => {
  const logged = 'x'.repeat(1_000);
  await onMember(mongod, 0, async (client) => {
    const admin = client.db('admin');
    const before = await admin.command({ getParameter: 1, logLevel: 1 });
    await admin.command({ setParameter: 1, logLevel: 2 });
    // Several times what a pipe holds.
    for (let count = 0; count < 500; count += 1) await admin.command({ ping: logged });
    const after = await admin.command({ setParameter: 1, logLevel: before['logLevel'] });
    expect(after).toMatchObject({ ok: 1 });
  });
});

it('gives up when it is cut each time', async () => {
  await cut('replSetInitiate', 100);
  await expect(formReplicaSet('test', mongod.ports)).rejects.toThrow('closed');
});
