import { expect, it, jest } from '@jest/globals';
import { MongoClient, ReadPreference, type ClientSession, type Db } from 'mongodb';
import { testDatabaseUri } from '../../test/mongo.js';
import { DECODING } from './driver-options.js';
import { ReadAttempt } from './read-attempt.js';
import { Topology } from './topology.js';

it('frees a cursor on the server that has it', () => {
  const command = jest.fn<Db['command']>().mockResolvedValue({});
  const readPreference = ReadPreference.secondaryPreferred;
  const session = {} as ClientSession;
  const signal = AbortSignal.timeout(9);
  const options = { session, readPreference, signal, ...DECODING };
  const db = { command } as unknown as Db;
  const attempt = new ReadAttempt(db, options, performance.now(), new Topology());
  attempt.killCursor({ id: 7, ns: 'odds.markets' });
  expect(command).toHaveBeenCalledWith(
    expect.objectContaining({ killCursors: 'markets' }),
    expect.objectContaining({ readPreference }),
  );
});

it('gives a command that comes too late the least time, since without any MongoDB sets no bound', async () => {
  const command = jest.fn<Db['command']>().mockResolvedValue({});
  const session = { inTransaction: () => false } as unknown as ClientSession;
  const { signal } = new AbortController();
  const options = { session, readPreference: ReadPreference.primary, signal, ...DECODING };
  const db = { command } as unknown as Db;
  const late = new ReadAttempt(db, options, performance.now() - 1_000, new Topology());
  await late.command({ find: 'markets' });
  expect(command).toHaveBeenCalledWith(expect.objectContaining({ maxTimeMS: 1 }), options);
});

it('reads in a transaction, whatever write concern the connection string has', async () => {
  const client = await MongoClient.connect(`${testDatabaseUri()}&w=0`);
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
