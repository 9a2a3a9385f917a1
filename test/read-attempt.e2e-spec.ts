import { expect, it, jest } from '@jest/globals';
import { MongoClient, ReadPreference, Timestamp, type ClientSession, type Db } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { testDatabaseUri } from './mongo.js';
import { DECODING } from '../src/database/driver-options.js';
import { ReadAttempt } from '../src/database/read-attempt.js';
import { ReadSlots } from '../src/database/read-slots.js';
import { Topology } from '../src/database/topology.js';

/** An attempt at the primary, unless said otherwise, and the command that it sends. */
function attemptOf({ lateMs = 0, readPreference = ReadPreference.primary } = {}) {
  const command = jest.fn<Db['command']>().mockResolvedValue({});
  const runCursorCommand = jest.fn(() => ({ toArray: async () => ['row'] }));
  const session = { inTransaction: jest.fn(() => false), startTransaction: jest.fn() };
  const { signal } = new AbortController();
  const own = session as unknown as ClientSession;
  const options = { session: own, readPreference, signal, ...DECODING };
  const db = { command, runCursorCommand } as unknown as Db;
  const topology = new Topology();
  const attempt = new ReadAttempt(
    db,
    options,
    performance.now() - lateMs,
    topology,
    new ReadSlots(1),
  );
  return { attempt, command, session, topology };
}

it('frees a cursor on the server that has it', () => {
  const command = jest.fn<Db['command']>().mockResolvedValue({});
  const readPreference = ReadPreference.secondaryPreferred;
  const session = {} as ClientSession;
  const signal = AbortSignal.timeout(9);
  const options = { session, readPreference, signal, ...DECODING };
  const db = { command } as unknown as Db;
  const attempt = new ReadAttempt(db, options, performance.now(), new Topology(), new ReadSlots(1));
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

it('knows the newest write of the primary, though a majority may lack it', async () => {
  const { attempt, command } = attemptOf();
  const [majority, newest] = [1, 2].map((i) => ({ ts: new Timestamp({ t: 1, i }) }));
  command.mockResolvedValue({ lastWrite: { opTime: newest, majorityOpTime: majority } });
  expect(await attempt.newestWrite()).toBe(newest?.ts);
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

it.each([
  [true, 'snapshot'],
  [false, 'local'],
])(
  'reads, where data is sharded: %s, in a transaction of one state: %s',
  async (isSharded, level) => {
    const { attempt, session, topology } = attemptOf();
    jest.spyOn(topology, 'isSharded', 'get').mockReturnValue(isSharded);
    jest.spyOn(attempt, 'rows').mockResolvedValue(Array.from({ length: 501 }, () => ({})));
    await attempt.rowsOfOneState({ find: 'markets' });
    const readConcern = { level };
    expect(session.startTransaction).toHaveBeenCalledWith(expect.objectContaining({ readConcern }));
  },
);

it.each([
  ['what is short until two passes agree', [1, 2, 2], 2],
  ['what always differs four times', [1, 2, 3, 4], 4],
])('on a standalone server reads %s', async (_what, passes, shown) => {
  const { attempt, session, topology } = attemptOf();
  jest.spyOn(topology, 'hasSnapshots', 'get').mockReturnValue(false);
  const rows = jest.spyOn(attempt, 'rows').mockRejectedValue(new Error('one pass too many'));
  for (const pass of passes) rows.mockResolvedValueOnce([{ pass }]);
  expect(await attempt.rowsOfOneState({ find: 'markets' })).toEqual([{ pass: shown }]);
  expect(session.startTransaction).not.toHaveBeenCalled();
});

it('on a standalone server reads once what is long', async () => {
  const { attempt, session, topology } = attemptOf();
  jest.spyOn(topology, 'hasSnapshots', 'get').mockReturnValue(false);
  const long = Array.from({ length: 501 }, () => ({}));
  const rows = jest.spyOn(attempt, 'rows').mockResolvedValue(long);
  expect(await attempt.rowsOfOneState({ find: 'markets' })).toBe(long);
  expect(rows).toHaveBeenCalledTimes(1);
  expect(session.startTransaction).not.toHaveBeenCalled();
});

it('reads once in a transaction that has begun, which has its read concern', async () => {
  const { attempt, command, session } = attemptOf();
  session.inTransaction.mockReturnValue(true);
  command.mockResolvedValue({ cursor: { id: 0, firstBatch: [] } });
  await attempt.rowsOfOneState({ find: 'markets' });
  expect(command).toHaveBeenCalledTimes(1);
  expect(command.mock.calls[0]?.[0]).not.toHaveProperty('readConcern');
});

it('reads on at the secondary that it began with, which alone has the cursor', async () => {
  const { attempt } = attemptOf({ readPreference: ReadPreference.secondaryPreferred });
  expect(await attempt.rows({ find: 'markets' })).toEqual(['row']);
});

it('reads on at the mongos that it began with, which alone has the cursor', async () => {
  const { attempt, topology } = attemptOf();
  jest.spyOn(topology, 'isSharded', 'get').mockReturnValue(true);
  expect(await attempt.rows({ find: 'markets' })).toEqual(['row']);
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
    const attempt = new ReadAttempt(
      client.db(),
      options,
      performance.now() + 5_000,
      topology,
      new ReadSlots(1),
    );
    const rows = jest.spyOn(attempt, 'rows');
    for (let pass = 0; pass < 4; pass += 1) rows.mockResolvedValueOnce([{ pass }]);
    expect(await attempt.rowsOfOneState({ find: 'markets' })).toEqual([]);
    await session.endSession();
  } finally {
    await client.close();
  }
});

it('reads on in as many long reads at a time as there are slots, and waits for one as long as it has time', async () => {
  const replies: (() => void)[] = [];
  const command = jest.fn<Db['command']>(
    () =>
      new Promise((resolve) => {
        replies.push(() => resolve({ cursor: { id: 0, nextBatch: [{ _id: 2 }] } }));
      }),
  );
  const options = {
    session: {} as ClientSession,
    readPreference: ReadPreference.primary,
    signal: new AbortController().signal,
    ...DECODING,
  };
  const db = { command } as unknown as Db;
  const attempt = new ReadAttempt(
    db,
    options,
    performance.now() + 5_000,
    new Topology(),
    new ReadSlots(1),
  );
  const cursors = [7, 8].map((id) => ({ id, ns: 'odds.markets', firstBatch: [{ _id: 1 }] }));
  const reads = cursors.map((cursor) => attempt.restOf(cursor, ({ _id }) => Number(_id)));
  // Whoever waits holds no documents.
  expect(cursors.map(({ firstBatch }) => firstBatch)).toEqual([[], []]);
  // One of a single reply needs no slot.
  expect(await attempt.restOf({ id: 0, firstBatch: [{ _id: 3 }] })).toEqual([{ _id: 3 }]);
  await delay(50);
  expect(command).toHaveBeenCalledTimes(1);
  replies[0]?.();
  expect(await reads[0]).toEqual([1, 2]);
  replies[1]?.();
  expect(await reads[1]).toEqual([1, 2]);
});
