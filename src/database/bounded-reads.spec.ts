import { expect, it, jest } from '@jest/globals';
import { MongoServerError, Timestamp, type Db } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { BoundedReads } from './bounded-reads.js';
import { ReadAfterTime } from './read-after-time.js';
import type { Topology } from './topology.js';

/** Reads of servers that are in this state. */
function readsOf(topology: Partial<Topology>): BoundedReads {
  const session = { advanceClusterTime: () => undefined, advanceOperationTime: () => undefined };
  const client = {
    withSession: (_options: object, work: (own: typeof session) => unknown) => work(session),
  };
  return new BoundedReads(
    { db: { client } as unknown as Db },
    { readable: true, mayBeReadable: true, ...topology } as Topology,
    () => undefined,
  );
}

it('asks no second secondary when the first has answered at once', async () => {
  const time = new Timestamp({ t: 5, i: 1 });
  const readAfterTime = new ReadAfterTime();
  readAfterTime.advance({ clusterTime: time });
  const reads = readsOf({ newestOnSecondaries: time, readAfterTime });
  const read = jest.fn(async () => 'answer');
  await expect(reads.run(900, read)).resolves.toBe('answer');
  await delay(100);
  expect(read).toHaveBeenCalledTimes(1);
});

it('waits for a snapshot that is not there yet, as after an index was made', async () => {
  const SNAPSHOT_UNAVAILABLE = 246;
  const there = performance.now() + 60;
  const read = async () => {
    if (performance.now() > there) return 'answer';
    throw new MongoServerError({ message: 'no snapshot', code: SNAPSHOT_UNAVAILABLE });
  };
  const reads = readsOf({ hasPrimary: true, readAfterTime: new ReadAfterTime() });
  await expect(reads.run(900, read)).resolves.toBe('answer');
});
