import type { Document } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestMongod } from '../mongo.js';
import {
  APP_NAME,
  onEachMember,
  onMember,
  primaryOf,
  setFailCommand,
  writable,
} from '../mongo-admin.js';
import type { Random } from '../random.js';
import type { Service } from '../services.js';

/** Brings a fault about, holds it, and has mended it when it resolves. */
export type Fault = (stage: Stage) => Promise<void>;

/** What faults happen to. */
export interface Stage {
  readonly mongod: TestMongod;
  readonly service: Service;
  readonly random: Random;
}

/** What a change feed gives up with: interrupted, cursor gone, history lost, stream broken, event too large. */
const FEED_ERRORS = [11_601, 43, 286, 280, 10_334];

/** The feed's connection is closed, some times in a row. */
export const feedCut: Fault = async ({ mongod, random }) => {
  const times = 1 + random.below(4);
  await failing(mongod, { times }, { failCommands: ['getMore'], closeConnection: true }, 500);
};

/** The server refuses to go on. */
export const feedRefused: Fault = async ({ mongod, random }) => {
  const errorCode = random.pick(FEED_ERRORS);
  await failing(mongod, { times: 1 }, { failCommands: ['getMore'], errorCode }, 200);
};

/** The server takes the feed's question, and is silent. */
export const feedSilent: Fault = async ({ mongod, random }) => {
  const blockTimeMS = 100 + random.below(2_400);
  const data = { failCommands: ['getMore'], blockConnection: true, blockTimeMS };
  await failing(mongod, 'alwaysOn', data, 500 + random.below(1_500));
  await delay(blockTimeMS);
};

/** The feed can't begin anew either. */
export const feedBlind: Fault = async ({ mongod }) => {
  const data = { failCommands: ['getMore', 'aggregate'], closeConnection: true };
  await failing(mongod, 'alwaysOn', data, 1_500);
};

/** Somebody ends the operation on the server. */
export const feedKilled: Fault = async ({ mongod }) => {
  await onEachMember(mongod, async (client) => {
    const admin = client.db('admin');
    const running = await admin
      .aggregate([
        { $currentOp: { allUsers: true } },
        { $match: { appName: APP_NAME, op: 'getmore', opid: { $exists: true } } },
      ])
      .toArray();
    for (const { opid } of running) await admin.command({ killOp: 1, op: opid as unknown });
  });
  await delay(200);
};

/** Connections break under the look-ups. */
export const readsCut: Fault = async ({ mongod, random }) => {
  const times = 1 + random.below(20);
  const data = { failCommands: ['find', 'aggregate'], closeConnection: true };
  await failing(mongod, { times }, data, 300);
};

/** The service stands still: stopped by its host, or starved. */
export const servicePaused: Fault = async ({ service, random }) => {
  if (!service.pid) throw new Error('Only a process of its own can be paused');
  process.kill(service.pid, 'SIGSTOP');
  await delay(random.pick([150, 300, 600, 1_500, 3_000]));
  process.kill(service.pid, 'SIGCONT');
};

export const mongodPaused: Fault = async ({ mongod, random }) => {
  await mongod.kill('SIGSTOP', 0);
  await delay(random.pick([150, 400, 1_500, 3_000]));
  await mongod.kill('SIGCONT', 0);
  await writable(mongod);
};

export const mongodKilled: Fault = async ({ mongod, random }) => {
  await mongod.kill('SIGKILL', 0);
  await delay(random.below(1_000));
  await mongod.restart(0);
  await writable(mongod);
};

export const primaryStepsDown: Fault = async ({ mongod }) => {
  const index = await primaryOf(mongod);
  await onMember(mongod, index, (client) =>
    client.db('admin').command({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 2, force: true }),
  );
  await writable(mongod);
};

export const primaryPaused: Fault = async ({ mongod, random }) => {
  const index = await primaryOf(mongod);
  await mongod.kill('SIGSTOP', index);
  await delay(random.pick([300, 1_200, 2_500, 5_000]));
  await mongod.kill('SIGCONT', index);
  await writable(mongod);
};

export const primaryKilled: Fault = async ({ mongod, random }) => {
  const index = await primaryOf(mongod);
  await mongod.kill('SIGKILL', index);
  await delay(1_000 + random.below(3_000));
  await mongod.restart(index);
  await writable(mongod);
};

/** A secondary falls behind, and comes back with the past. */
export const secondaryPaused: Fault = async ({ mongod, random }) => {
  const index = ((await primaryOf(mongod)) + 1) % mongod.pids.length;
  await mongod.kill('SIGSTOP', index);
  await delay(500 + random.below(3_000));
  await mongod.kill('SIGCONT', index);
  await writable(mongod);
};

/** The primary goes on without a majority behind it: what it takes is not replicated. */
export const majorityLags: Fault = async ({ mongod, random }) => {
  const index = await secondaryOf(mongod);
  await mongod.kill('SIGSTOP', index);
  await delay(1_000 + random.below(5_000));
  await mongod.kill('SIGCONT', index);
  await writable(mongod);
};

/** A secondary stays in the past, and the primary cuts the connections of the service now and then. */
export const secondaryLags: Fault = async ({ mongod, random }) => {
  const index = await secondaryOf(mongod);
  await applying(mongod, index, false);
  try {
    for (let cuts = 2 + random.below(4); cuts > 0; cuts -= 1) {
      await delay(random.below(2_000));
      const data = { failCommands: ['find', 'aggregate', 'getMore'], closeConnection: true };
      await failing(mongod, { times: 1 + random.below(4) }, data, 300);
    }
  } finally {
    await applying(mongod, index, true);
  }
};

/** A member with data that is no primary. */
async function secondaryOf(mongod: TestMongod): Promise<number> {
  return (await primaryOf(mongod)) === 0 ? 1 : 0;
}

/** Sets whether a secondary applies what it gets from the primary. */
async function applying(mongod: TestMongod, index: number, isOn: boolean): Promise<void> {
  const mode = isOn ? 'off' : 'alwaysOn';
  await onMember(mongod, index, (client) =>
    client.db('admin').command({ configureFailPoint: 'rsSyncApplyStop', mode }),
  );
}

/** Makes commands of the service fail for a while. */
async function failing(
  mongod: TestMongod,
  mode: Document | string,
  data: Document,
  holdMs: number,
): Promise<void> {
  await setFailCommand(mongod, mode, data);
  await delay(holdMs);
  await setFailCommand(mongod, 'off');
}
