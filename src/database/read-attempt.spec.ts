import { expect, it, jest } from '@jest/globals';
import { ReadPreference, type ClientSession, type Db } from 'mongodb';
import { ReadAttempt } from './read-attempt.js';
import { Topology } from './topology.js';

it('frees a cursor on the server that has it', () => {
  const command = jest.fn<Db['command']>().mockResolvedValue({});
  const readPreference = ReadPreference.secondaryPreferred;
  const session = {} as ClientSession;
  const signal = AbortSignal.timeout(9);
  const options = { session, readPreference, signal, enableUtf8Validation: false };
  const db = { command } as unknown as Db;
  const attempt = new ReadAttempt(db, options, performance.now(), new Topology());
  attempt.killCursor({ id: 7, ns: 'odds.markets' });
  expect(command).toHaveBeenCalledWith(
    expect.objectContaining({ killCursors: 'markets' }),
    expect.objectContaining({ readPreference }),
  );
});
