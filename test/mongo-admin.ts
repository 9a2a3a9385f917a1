import { MongoClient, MongoServerError, type Document } from 'mongodb';
import { DRIVER_OPTIONS } from '../src/database/driver-options.js';
import type { TestMongod } from './mongo.js';
import { until } from './until.js';

/** The name that the service gives itself to MongoDB. */
export const APP_NAME = DRIVER_OPTIONS.appName;

/** Makes commands of the service (of everybody, if `appName` is empty) fail, or wait, until `mode` is `off`. */
export async function setFailCommand(
  mongod: TestMongod,
  mode: Document | string,
  data: Document = {},
  appName: string | undefined = APP_NAME,
): Promise<void> {
  const scope = appName ? { appName } : {};
  const command = { configureFailPoint: 'failCommand', mode, data: { ...data, ...scope } };
  await onEachMember(mongod, (client) => client.db('admin').command(command));
}

/** How many commands the fail point has met so far. */
export async function timesFailed(client: Pick<MongoClient, 'db'>): Promise<number> {
  const name = 'failpoint.failCommand';
  return (await client.db('admin').command({ getParameter: 1, [name]: 1 }))[name].timesEntered;
}

export async function onEachMember(
  mongod: TestMongod,
  act: (client: MongoClient) => Promise<unknown>,
): Promise<void> {
  for (const index of mongod.pids.keys()) await onMember(mongod, index, act);
}

/** Over a connection to this member alone. */
export async function onMember<T>(
  mongod: TestMongod,
  index: number,
  act: (client: MongoClient) => Promise<T>,
): Promise<T> {
  const client = new MongoClient(mongod.memberUri(index));
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}

/** Cursors that nobody reads at the moment, but for those of change streams. */
export async function idleCursors(client: Pick<MongoClient, 'db'>): Promise<number> {
  const pipeline = [
    { $currentOp: { allUsers: true, idleCursors: true } },
    { $match: { type: 'idleCursor', 'cursor.tailable': false } },
  ];
  return (await client.db('admin').aggregate(pipeline).toArray()).length;
}

/** The index of the primary among the members. */
export async function primaryOf(mongod: TestMongod): Promise<number> {
  const client = new MongoClient(mongod.uri);
  try {
    const { me } = await client.db('admin').command({ hello: 1 });
    return mongod.ports.indexOf(Number(String(me).split(':')[1]));
  } finally {
    await client.close();
  }
}

/** Resolves when there is a primary with a majority behind it. */
export async function writable(mongod: TestMongod): Promise<void> {
  const client = new MongoClient(mongod.uri);
  try {
    const writeConcern = { w: 'majority' } as const;
    await client.db().collection('probe').insertOne({}, { writeConcern });
  } finally {
    await client.close();
  }
}

const BACKGROUND_OPERATION_IN_PROGRESS = 12_587;

/** The service makes what it misses at any time, and MongoDB moves no collection whose indexes it is building. */
export async function onceIndexesAreBuilt(act: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    try {
      await act();
      return true;
    } catch (error) {
      const isBusy =
        error instanceof MongoServerError && error.code === BACKGROUND_OPERATION_IN_PROGRESS;
      if (!isBusy) throw error;
      return false;
    }
  });
}
