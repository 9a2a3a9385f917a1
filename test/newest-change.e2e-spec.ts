import { expect, it, jest } from '@jest/globals';
import { MongoClient, MongoServerError, Timestamp, type Db, type Document } from 'mongodb';
import * as timers from 'node:timers/promises';
import { testDatabaseUri } from './mongo.js';
import { until } from './until.js';

const pause = jest.fn(timers.setTimeout);
jest.unstable_mockModule('node:timers/promises', () => ({ ...timers, setTimeout: pause }));
const { newestChange } = await import('../src/db-admin/newest-change.js');

it.each([
  ['ChangeStreamHistoryLost', 286],
  ['CappedPositionLost', 136],
])(
  'says how far it has looked where the oplog reaches no further back: %s',
  async (_name, code) => {
    const now = new Timestamp({ t: 1_000_000, i: 1 });
    const oplogBegins = new Timestamp({ t: now.t - 60, i: 1 });
    const command = async ({ hello, pipeline }: Document) => {
      if (hello) return { operationTime: now };
      if (pipeline[0].$changeStream.startAtOperationTime.lessThan(oplogBegins)) {
        throw new MongoServerError({ message: 'lost', code });
      }
      const postBatchResumeToken = { _data: `82${now.t.toString(16).padStart(8, '0')}00000001` };
      return { cursor: { id: 0, firstBatch: [], postBatchResumeToken } };
    };
    const client = { startSession: () => ({ endSession: async () => undefined }) };
    pause.mockClear();
    expect(await newestChange({ command, client } as unknown as Db, 'markets')).toEqual({
      at: null,
      ageSeconds: null,
      searchedSeconds: 10,
    });
    // All searches share one time.
    expect(pause).toHaveBeenCalledTimes(1);
  },
);

it('tells no age below nothing, though the clock of MongoDB is ahead', async () => {
  const client = await MongoClient.connect(testDatabaseUri());
  try {
    await client.db().collection('markets').insertOne({});
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 60_000);
    expect(await newestChange(client.db(), 'markets')).toMatchObject({ ageSeconds: 0 });
  } finally {
    jest.restoreAllMocks();
    await client.close();
  }
});

it('tells the last of several changes', async () => {
  const client = await MongoClient.connect(testDatabaseUri());
  try {
    await client.db().collection('markets').insertOne({});
    const firstBefore = Date.now();
    await until(() => Date.now() > firstBefore);
    await client.db().collection('markets').insertOne({});
    const { at } = await newestChange(client.db(), 'markets');
    expect(Date.parse(at ?? '')).toBeGreaterThan(firstBefore);
  } finally {
    await client.close();
  }
});
