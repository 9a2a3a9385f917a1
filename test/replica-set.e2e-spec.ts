import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
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

it('gives up when it is cut each time', async () => {
  await cut('replSetInitiate', 100);
  await expect(formReplicaSet('test', mongod.ports)).rejects.toThrow('closed');
});
