import { expect, it, jest } from '@jest/globals';
import { Timestamp, type Db } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { BoundedReads } from './bounded-reads.js';
import { ReadAfterTime } from './read-after-time.js';
import type { Topology } from './topology.js';

it('asks no second secondary when the first has answered at once', async () => {
  const time = new Timestamp({ t: 5, i: 1 });
  const readAfterTime = new ReadAfterTime();
  readAfterTime.advance({ clusterTime: time });
  const topology = {
    readable: true,
    mayBeReadable: true,
    newestOnSecondaries: time,
    readAfterTime,
  };
  const session = { advanceClusterTime: () => undefined, advanceOperationTime: () => undefined };
  const client = {
    withSession: (_options: object, work: (own: typeof session) => unknown) => work(session),
  };
  const reads = new BoundedReads(
    { db: { client } as unknown as Db },
    topology as unknown as Topology,
    () => undefined,
  );
  const read = jest.fn(async () => 'answer');
  await expect(reads.run(900, read)).resolves.toBe('answer');
  await delay(100);
  expect(read).toHaveBeenCalledTimes(1);
});
