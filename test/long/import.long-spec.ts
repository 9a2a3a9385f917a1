import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import { aRecord, counts, ndjson, importTo } from '../imports.js';
import { TestMongod } from '../mongo.js';
import { onMember, primaryOf, setFailCommand, timesFailed, writable } from '../mongo-admin.js';
import { resultOf, runCli, startCli } from '../run-cli.js';
import { until } from '../until.js';

describe('markets import', () => {
  it('fails with a reason when MongoDB goes away, and a second run brings the rest', async () => {
    const mongod = await TestMongod.start();
    try {
      const child = startCli(['markets', 'import', '--json', '-'], {
        env: { MONGODB_URI: mongod.uri },
      });
      const records = Array.from({ length: 2_000 }, () => aRecord());
      child.stdin.write(`${ndjson(...records.slice(0, 1_000))}\n`);
      const watcher = await MongoClient.connect(mongod.uri);
      const stored = watcher.db().collection('markets');
      while ((await stored.countDocuments()) < 1_000);
      await watcher.close();
      await mongod.kill('SIGKILL');
      child.stdin.end(ndjson(...records.slice(1_000)));
      const { code, stdout, stderr } = await resultOf(child);
      // The first batch is stored, but its confirmation may have been lost with MongoDB.
      const report = JSON.parse(stdout) as { inserted: number };
      const confirmed = report.inserted;
      expect([0, 1_000]).toContain(confirmed);
      expect(report).toEqual(counts({ read: confirmed, inserted: confirmed }));
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: MongoDB can't be used: .+\nThe import can be run again\.\n$/);

      await mongod.restart();
      const again = await importTo(mongod.uri, ['-'], ndjson(...records));
      const { inserted, unchanged } = again.report ?? counts({});
      expect(again.report).toEqual(counts({ read: 2_000, inserted, unchanged }));
      expect(inserted + unchanged).toBe(2_000);
      expect(unchanged).toBeGreaterThanOrEqual(confirmed);
    } finally {
      await mongod.stop();
    }
  }, 60_000);

  it('changes a market of several megabytes', async () => {
    const mongod = await TestMongod.start();
    try {
      const runner = { runnerId: 'r', name: 'n', price: 1 };
      const record = aRecord({ runners: Array.from({ length: 180_000 }, () => runner) });
      await importTo(mongod.uri, ['-'], ndjson(record));
      const again = await importTo(mongod.uri, ['-'], ndjson({ ...record, name: 'Other' }));
      expect(again).toMatchObject({ code: 0, report: counts({ read: 1, updated: 1 }) });
    } finally {
      await mongod.stop();
    }
  }, 60_000);

  it('loses nothing of a feed while MongoDB is away', async () => {
    const mongod = await TestMongod.start();
    try {
      const { child, ended } = await followWithoutMongod(mongod, 3_000);
      await mongod.restart();
      await until(async () => (await countStored(mongod)) === 3_000);
      child.kill('SIGTERM');

      const { code, stdout, stderr } = await ended;
      expect(stderr).toMatch(/^Waiting for MongoDB: .+\n$/);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ read: 3_000, rejected: 0 });
    } finally {
      await mongod.stop();
    }
  }, 60_000);

  it('stores what was read of a feed where MongoDB comes back just after SIGTERM', async () => {
    const mongod = await TestMongod.start();
    try {
      const NOT_PRIMARY = 10_107;
      await setFailCommand(mongod, 'alwaysOn', {
        failCommands: ['insert'],
        errorCode: NOT_PRIMARY,
      });
      const { child, ended, write } = follow(mongod);
      write(200);
      await once(child.stderr, 'readable');
      child.kill('SIGTERM');
      const triesBefore = await onMember(mongod, 0, timesFailed);
      await until(async () => (await onMember(mongod, 0, timesFailed)) > triesBefore);
      await setFailCommand(mongod, 'off');
      const { code, stdout } = await ended;
      expect(JSON.parse(stdout)).toMatchObject({ read: 200, rejected: 0 });
      expect(code).toBe(0);
      expect(await countStored(mongod)).toBe(200);
    } finally {
      await mongod.stop();
    }
  }, 60_000);

  it('waits for a majority, even to call a market unchanged, and prints its report after a signal; other commands say why they wait', async () => {
    const mongod = await TestMongod.start({ members: 2, arbiter: true });
    const env = { MONGODB_URI: mongod.uri };
    try {
      await writable(mongod);
      const makeKey = async () => {
        const { stdout } = await runCli(['keys', 'create', '--name', 'x', '--json'], { env });
        return JSON.parse(stdout).id;
      };
      const ids = [await makeKey(), await makeKey()];
      await runCli(['db', 'init'], { env });
      await mongod.kill('SIGKILL', 1 - (await primaryOf(mongod)));
      // With an arbiter MongoDB's own default is one member.
      const waiting = [
        ['revoke', ids[0]],
        ['rotate', ids[1]],
        ['create', '--name', 'y'],
      ].map((args) => {
        const child = startCli(['keys', ...args], {
          env: { MONGODB_URI: `${mongod.uri}&w=majority` },
        });
        return { child, ended: resultOf(child), said: once(child.stderr, 'readable') };
      });

      const records: ReturnType<typeof aRecord>[] = [];
      for (const [index, options] of [[], ['--follow']].entries()) {
        const child = startCli(['markets', 'import', '--json', ...options, '-'], { env });
        const ended = resultOf(child);
        const record = aRecord();
        records.push(record);
        child.stdin.end(ndjson(record));
        await until(async () => (await countStored(mongod)) > index);
        child.kill('SIGTERM');
        const { code, stdout, stderr } = await ended;
        expect(stderr).toBe(
          'error: stopped by SIGTERM; MongoDB has not acknowledged the last write: it may be done\n',
        );
        expect(JSON.parse(stdout)).toEqual(counts({}));
        expect(code).toBe(1);
      }

      // What the first two have stored may still be lost.
      const again = startCli(['markets', 'import', '--json', '-'], { env });
      const ofAgain = resultOf(again);
      again.stdin.end(ndjson(...records));
      await once(again.stderr, 'readable');
      again.kill('SIGTERM');
      const { code: codeAgain, stdout: toldAgain } = await ofAgain;
      expect(JSON.parse(toldAgain)).toEqual(counts({}));
      expect(codeAgain).toBe(1);

      for (const { child, ended, said } of waiting) {
        await said;
        child.kill('SIGTERM');
        const { code, stderr } = await ended;
        expect(stderr.split('\n')).toEqual([
          expect.stringMatching(/^Waiting for MongoDB, which has not acknowledged a write for 5 s/),
          'error: stopped by SIGTERM',
          'The command may have done its work: look, and run it again.',
          '',
        ]);
        expect(code).toBe(1);
      }
    } finally {
      await mongod.stop();
    }
  }, 60_000);
});

/** An import that follows a feed, 100 of whose records were stored before MongoDB was killed: it waits with the others. */
async function followWithoutMongod(mongod: TestMongod, records: number) {
  const { child, ended, write } = follow(mongod);
  write(100);
  await until(async () => (await countStored(mongod)) === 100);
  const waits = once(child.stderr, 'readable');
  await mongod.kill('SIGKILL');
  write(records - 100);
  await waits;
  return { child, ended };
}

function follow(mongod: TestMongod) {
  const env = { MONGODB_URI: mongod.uri };
  const child = startCli(['markets', 'import', '--json', '--follow', '-'], { env });
  const write = (count: number) =>
    child.stdin.write(`${ndjson(...Array.from({ length: count }, () => aRecord()))}\n`);
  return { child, ended: resultOf(child), write };
}

async function countStored({ uri }: TestMongod): Promise<number> {
  const client = await MongoClient.connect(uri);
  try {
    return await client.db().collection('markets').countDocuments();
  } finally {
    await client.close();
  }
}
