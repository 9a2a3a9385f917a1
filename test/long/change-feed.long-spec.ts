import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChangeFeed } from '../../src/change-feed/change-feed.js';
import { databaseName } from '../../src/database/driver-options.js';
import { FailingFeed, FRESH_MS, type Recorder, type Thing } from '../change-recorder.js';
import { setFailCommand } from '../mongo-admin.js';
import { TestMongod } from '../mongo.js';
import { until } from '../until.js';

describe('ChangeFeed of a MongoDB that fails', () => {
  let failing: FailingFeed;
  let mongod: TestMongod;
  let feed: ChangeFeed;
  let recorder: Recorder;

  beforeEach(async () => {
    mongod = await TestMongod.start();
    failing = new FailingFeed(mongod);
    ({ feed, recorder } = failing);
  });

  afterEach(async () => {
    await failing.end();
    await mongod.stop();
  });

  it('begins once MongoDB is there', async () => {
    await mongod.kill('SIGKILL');
    feed.onApplicationBootstrap();
    await until(() => feed.blindBecause !== 'not started');
    await mongod.restart();
    await until(() => feed.ageMs < FRESH_MS);
    await failing.write('after');
    await until(() => recorder.commits.length > 0);
  });

  it('is as old as its question after a pause, however new the reply that lay unread looks', async () => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    // While the collection is missing, each round has a second question.
    await failing.write('before');
    await until(() => recorder.commits.length === 1);
    // In the midst of its rounds: nearly always a question is on its way.
    await delay(150);
    const pausedMs = 500;
    const pausedAt = performance.now();
    while (performance.now() - pausedAt < pausedMs);
    // The reply is here, and there will be no other.
    process.kill(mongod.pids[0] ?? 0, 'SIGSTOP');
    for (let looks = 0; looks < 20; looks += 1) {
      expect(feed.ageMs).toBeGreaterThanOrEqual(pausedMs);
      await delay(5);
    }
  });

  it('gives up a server that is silent to it alone', async () => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    const data = { failCommands: ['getMore'], blockConnection: true, blockTimeMS: 60_000 };
    await setFailCommand(mongod, { times: 1 }, data);
    await until(() => feed.ageMs === Infinity);
    await until(() => feed.ageMs < FRESH_MS);
  });

  it('tells nothing of a transaction that is too large to be held, and goes on', async () => {
    feed.onApplicationBootstrap();
    await until(() => feed.ageMs < FRESH_MS);
    const client = new MongoClient(failing.uri);
    const things = client.db(databaseName(failing.uri)).collection<Thing>('things');
    const many = Array.from({ length: 10_001 }, (_, _id) => ({ _id }));
    await client.withSession((session) =>
      session.withTransaction(async () => {
        await things.insertMany(many, { session });
      }),
    );
    await client.close();
    await until(() => recorder.timesForgotten > 1);
    expect(recorder.commits).toEqual([]);
    expect(Date.now() - Number(feed.listeners.newestChangeOf('things'))).toBeLessThan(60_000);
    await failing.write('after');
    await until(() => recorder.commits.length > 0);
    expect(recorder.changes).toEqual([
      [{ kind: 'stored', id: 'after', document: { _id: 'after' }, before: {} }],
    ]);
  });
});
