import { expect, it, jest } from '@jest/globals';
import { MongoClient, ReadPreference, Timestamp, type ClientSession, type Db } from 'mongodb';
import { testDatabaseUri } from '../../test/mongo.js';
import { DECODING } from './driver-options.js';
import { ReadAttempt } from './read-attempt.js';
import { Topology } from './topology.js';

/** An attempt at the primary, and the command that it sends. */
function attemptOf({ lateMs = 0 } = {}) {
  const command = jest.fn<Db['command']>().mockResolvedValue({});
  const session = { inTransaction: () => false, startTransaction: jest.fn() };
  const { signal } = new AbortController();
  const readPreference = ReadPreference.primary;
  const own = session as unknown as ClientSession;
  const options = { session: own, readPreference, signal, ...DECODING };
  const db = { command } as unknown as Db;
  const topology = new Topology();
  const attempt = new ReadAttempt(db, options, performance.now() - lateMs, topology);
  return { attempt, command, session, topology };
}

it('frees a cursor on the server that has it', () => {
  const command = jest.fn<Db['command']>().mockResolvedValue({});
  const readPreference = ReadPreference.secondaryPreferred;
  const session = {} as ClientSession;
  const signal = AbortSignal.timeout(9);
  const options = { session, readPreference, signal, ...DECODING };
  const db = { command } as unknown as Db;
  const attempt = new ReadAttempt(db, options, performance.now(), new Topology());
  // Of a change stream: the name of its collection has a point.
  attempt.killCursor({ id: 7, ns: 'odds.$cmd.aggregate' });
  expect(command).toHaveBeenCalledWith(
    expect.objectContaining({ killCursors: '$cmd.aggregate' }),
    // A server that hangs must not keep the connection.
    expect.objectContaining({ readPreference, signal: expect.any(AbortSignal) }),
  );
});

it('gives a command that comes too late the least time, since without any MongoDB sets no bound', async () => {
  const { attempt, command } = attemptOf({ lateMs: 1_000 });
  await attempt.command({ find: 'markets' });
  expect(command).toHaveBeenCalledWith(
    expect.objectContaining({ maxTimeMS: 1 }),
    expect.anything(),
  );
});

it('reads the newest state, though the default of the cluster may be what a majority has', async () => {
  const { attempt, command } = attemptOf();
  await attempt.command({ find: 'markets' });
  const readConcern = { level: 'local' };
  expect(command).toHaveBeenCalledWith(expect.objectContaining({ readConcern }), expect.anything());
});

it('hears from each reply what was written', async () => {
  const { attempt, command, topology } = attemptOf();
  const $clusterTime = { clusterTime: new Timestamp({ t: 1, i: 1 }) };
  command.mockResolvedValue({ $clusterTime });
  await attempt.command({ find: 'markets' });
  expect(topology.readAfterTime.newest).toBe($clusterTime);
});

it.each([
  [500, 'a second pass'],
  [501, 'a transaction'],
])('reads %d documents by %s', async (count, by) => {
  const { attempt, session } = attemptOf();
  jest.spyOn(attempt, 'rows').mockResolvedValue(Array.from({ length: count }, () => ({})));
  await attempt.rowsOfOneState({ find: 'markets' });
  expect(session.startTransaction).toHaveBeenCalledTimes(by === 'a transaction' ? 1 : 0);
});

it('reads in a transaction, whatever concerns the connection string has', async () => {
  const concerns = 'w=0&readConcernLevel=linearizable';
  const client = await MongoClient.connect(`${testDatabaseUri()}&${concerns}`);
  try {
    const topology = new Topology();
    const session = client.startSession({ causalConsistency: false });
    const { signal } = new AbortController();
    const readPreference = ReadPreference.primary;
    const options = { session, readPreference, signal, ...DECODING };
    const attempt = new ReadAttempt(client.db(), options, performance.now() + 5_000, topology);
    const rows = jest.spyOn(attempt, 'rows');
    for (let pass = 0; pass < 4; pass += 1) rows.mockResolvedValueOnce([{ pass }]);
    expect(await attempt.rowsOfOneState({ find: 'markets' })).toEqual([]);
    await session.endSession();
  } finally {
    await client.close();
  }
});
