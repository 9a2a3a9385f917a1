import { Logger } from '@nestjs/common';
import { expect, it, jest } from '@jest/globals';
import { MongoServerError, Timestamp, type Db, type Document, type MongoClient } from 'mongodb';
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { BoundedReads, READ_BUDGET_MS } from './bounded-reads.js';
import { DRIVER_OPTIONS } from './driver-options.js';
import type { ReadAttempt } from './read-attempt.js';
import { Topology } from './topology.js';

type ServerType = 'RSPrimary' | 'RSSecondary' | 'Unknown';

/** Reads of three servers, and what the driver's monitors tell of them. */
function readsOf(...types: ServerType[]) {
  const topology = new Topology();
  const monitors = new EventEmitter();
  topology.follow(monitors as MongoClient);
  const tell = (...now: ServerType[]) => {
    const allHosts = now.map((_, index) => `member-${index}`);
    const servers = now.map((type, index) => ({
      address: allHosts[index],
      allHosts,
      passives: [],
      type,
      isWritable: type === 'RSPrimary',
      primary: null,
    }));
    monitors.emit('topologyDescriptionChanged', {
      newDescription: { servers: new Map(servers.map((server) => [server.address, server])) },
    });
  };
  tell(...types);
  const ts = new Timestamp({ t: 5, i: 1 });
  const reply = { lastWrite: { opTime: { ts } }, $clusterTime: { clusterTime: ts } };
  monitors.emit('serverHeartbeatSucceeded', { connectionId: 'member-1', reply });
  const session = {
    advanceClusterTime: jest.fn(),
    advanceOperationTime: jest.fn(),
    inTransaction: () => false,
  };
  const withSession = jest.fn((_options: object, work: (own: typeof session) => unknown) =>
    work(session),
  );
  const client = { withSession };
  const sent: { readonly command: Document; readonly signal: AbortSignal }[] = [];
  /** Is never answered. */
  const command = (asked: Document, { signal }: { signal: AbortSignal }) => {
    sent.push({ command: asked, signal });
    return new Promise(() => undefined);
  };
  const db = { client, command } as unknown as Db;
  const logIn = jest.fn();
  const reads = new BoundedReads({ db }, topology, logIn);
  return { reads, tell, sent, logIn, session, withSession, topology };
}

it('asks no second secondary when the first has answered at once', async () => {
  const { reads } = readsOf('Unknown', 'RSSecondary', 'RSSecondary');
  const read = jest.fn(async () => 'answer');
  await expect(reads.run(900, read)).resolves.toBe('answer');
  await delay(100);
  expect(read).toHaveBeenCalledTimes(1);
});

it('has a secondary wait for what was written, though it has not heard of that time', async () => {
  const { reads, session, withSession, topology } = readsOf(
    'Unknown',
    'RSSecondary',
    'RSSecondary',
  );
  await reads.run(900, async () => 'answer');
  // Without it the driver sends no time that a read must wait for.
  expect(withSession).toHaveBeenCalledWith({ causalConsistency: true }, expect.anything());
  const { newest } = topology.readAfterTime;
  // A server refuses to wait for a time that is later than all it has heard of.
  expect(session.advanceClusterTime).toHaveBeenCalledWith(newest);
  expect(session.advanceOperationTime).toHaveBeenCalledWith(newest?.clusterTime);
});

it('asks another secondary in time where the first waits for what it lacks', async () => {
  const { reads } = readsOf('Unknown', 'RSSecondary', 'RSSecondary');
  const read = jest.fn(async () => 'answer').mockReturnValueOnce(new Promise(() => undefined));
  await expect(reads.run(READ_BUDGET_MS.sharedPages, read)).resolves.toBe('answer');
});

it('asks again when all secondaries have refused, as when each is just being shut down', async () => {
  const INTERRUPTED_AT_SHUTDOWN = 11_600;
  const { reads } = readsOf('Unknown', 'RSSecondary', 'RSSecondary');
  const gone = new MongoServerError({ message: 'shutting down', code: INTERRUPTED_AT_SHUTDOWN });
  const read = jest
    .fn(async () => 'answer')
    .mockRejectedValueOnce(gone)
    .mockRejectedValueOnce(gone);
  await expect(reads.run(900, read)).resolves.toBe('answer');
});

it('says that no server can be read, not that MongoDB is slow, where no secondary has what was written', async () => {
  const MAX_TIME_MS_EXPIRED = 50;
  const { reads } = readsOf('Unknown', 'RSSecondary', 'RSSecondary');
  const read = () =>
    Promise.reject(new MongoServerError({ message: 'waited', code: MAX_TIME_MS_EXPIRED }));
  await expect(reads.run(900, read)).rejects.toMatchObject({ code: 'database_unavailable' });
});

it('asks a new primary at once, while secondaries wait for what they lack', async () => {
  const { reads, tell } = readsOf('Unknown', 'RSSecondary', 'RSSecondary');
  const read = reads.run(900, async ({ isOfPrimary }: ReadAttempt) => {
    if (isOfPrimary) return 'answer';
    setImmediate(() => tell('Unknown', 'RSPrimary', 'RSSecondary'));
    return new Promise(() => undefined);
  });
  await expect(read).resolves.toBe('answer');
});

it('asks secondaries when a primary that is lost leaves a read without an answer, and gives that read up', async () => {
  const { reads, tell, sent } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  const read = reads.run(READ_BUDGET_MS.sharedPages, async (attempt: ReadAttempt) => {
    if (!attempt.isOfPrimary) return 'answer';
    setImmediate(() => tell('Unknown', 'RSSecondary', 'RSSecondary'));
    return attempt.command({ find: 'markets' });
  });
  await expect(read).resolves.toBe('answer');
  expect(sent.map(({ signal }) => signal.aborted)).toEqual([true]);
});

it('takes the answer of a primary that was lost on the way, where no secondary may answer', async () => {
  const { reads, tell } = readsOf('RSPrimary', 'RSSecondary', 'Unknown');
  const read = reads.run(900, async ({ isOfPrimary }: ReadAttempt) => {
    setImmediate(() => tell('Unknown', 'RSSecondary', 'Unknown'));
    if (isOfPrimary) await delay(100);
    return isOfPrimary ? 'answer' : 'of a secondary';
  });
  await expect(read).resolves.toBe('answer');
});

it('asks no secondary once a primary that was lost twice has answered', async () => {
  const { reads, tell } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  const read = jest.fn(async () => {
    await delay(1);
    for (const primary of ['Unknown', 'RSPrimary', 'Unknown'] as const)
      tell(primary, 'RSSecondary', 'RSSecondary');
    return 'answer';
  });
  await reads.run(900, read);
  // A second server would be asked 50 ms after the loss.
  await delay(100);
  expect(read).toHaveBeenCalledTimes(1);
});

it('lets nobody wait for a slot while those who have one wait for a server', async () => {
  const { reads, tell } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  tell('Unknown', 'Unknown', 'Unknown');
  const { maxPoolSize } = DRIVER_OPTIONS;
  const all = Array.from({ length: maxPoolSize + 1 }, () =>
    reads.run(READ_BUDGET_MS.scope, () => new Promise(() => undefined)),
  );
  expect(reads.slots.queueLength).toBe(0);
  const codes = (await Promise.allSettled(all)).map(
    (read) => (read as PromiseRejectedResult).reason.code,
  );
  expect(new Set(codes)).toEqual(new Set(['database_unavailable']));
});

it('takes the wait for a slot off the time of a read, which is promised from the request on', async () => {
  const { reads, sent } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  let free: (() => void) | undefined;
  const taken = new Promise<void>((resolve) => (free = resolve));
  const { maxPoolSize } = DRIVER_OPTIONS;
  for (let slot = 0; slot < maxPoolSize; slot += 1) void reads.run(900, () => taken);
  const read = reads.run(900, async (attempt: ReadAttempt) => {
    void attempt.command({ find: 'markets' });
  });
  await delay(100);
  free?.();
  await read;
  // MongoDB is to give up 150 ms before the end.
  expect(sent[0]?.command['maxTimeMS']).toBeLessThan(700);
});

it.each(['EPIPE', 'ECONNRESET'])(
  'tries again while the driver offers broken connections: %s',
  async (code) => {
    const { reads } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
    let broken = 3;
    const read = async () => {
      if (broken === 0) return 'answer';
      broken -= 1;
      throw Object.assign(new Error('This socket has been ended by the other party'), { code });
    };
    await expect(reads.run(900, read)).resolves.toBe('answer');
    broken = Infinity;
    await expect(reads.run(900, read)).rejects.toMatchObject({ code: 'database_unavailable' });
  },
);

it.each([
  ['a snapshot that is not there yet, as after an index was made', 246],
  ['a lock that a transaction did not get', 24],
  ['what a transaction found changed', 112],
])('waits for %s', async (_what, code) => {
  const there = performance.now() + 60;
  const read = async () => {
    if (performance.now() > there) return 'answer';
    throw new MongoServerError({ message: 'not yet', code });
  };
  const { reads } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  await expect(reads.run(900, read)).resolves.toBe('answer');
});

it('has the service log in anew when MongoDB knows its login no more', async () => {
  const { reads, logIn } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  const message = 'Command find requires authentication';
  const read = () => Promise.reject(new MongoServerError({ message, code: 13 }));
  await expect(reads.run(900, read)).rejects.toMatchObject({ code: 'database_unavailable' });
  logged.mockRestore();
  expect(logIn).toHaveBeenCalledTimes(1);
});

it('may not read from a refusal on, until a read succeeds', async () => {
  const { reads, topology } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  topology.hasAccess = true;
  const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  const message = 'not authorized on markets-odds';
  const read = () => Promise.reject(new MongoServerError({ message, code: 13 }));
  await expect(reads.run(900, read)).rejects.toMatchObject({ code: 'database_unavailable' });
  logged.mockRestore();
  expect(topology.hasAccess).toBe(false);
  await reads.run(900, async () => 'answer');
  expect(topology.hasAccess).toBe(true);
});

it('logs no refusal where MongoDB was too slow: nobody has to act', async () => {
  const MAX_TIME_MS_EXPIRED = 50;
  const { reads } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  const read = () =>
    Promise.reject(new MongoServerError({ message: 'too slow', code: MAX_TIME_MS_EXPIRED }));
  await expect(reads.run(900, read)).rejects.toMatchObject({ code: 'database_timeout' });
  expect(logged).not.toHaveBeenCalled();
  logged.mockRestore();
});

it('asks nobody again once no server has been readable for a while', async () => {
  const { reads, tell } = readsOf('RSPrimary', 'RSSecondary', 'RSSecondary');
  const read = jest.fn(async () => {
    tell('Unknown', 'Unknown', 'Unknown');
    await delay(DRIVER_OPTIONS.heartbeatFrequencyMS + 150);
    throw new MongoServerError({ message: 'gone', code: 11_600 });
  });
  await expect(reads.run(900, read)).rejects.toMatchObject({ code: 'database_unavailable' });
  expect(read).toHaveBeenCalledTimes(1);
});
