import { expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { databaseName } from '../../src/database/driver-options.js';
import { findMongod } from '../../src/embedded-mongod/find-mongod.js';
import { MongodProcess } from '../../src/embedded-mongod/mongod-process.js';
import { createTestApp } from '../app.js';
import { aRecord, counts, ndjson } from '../imports.js';
import { TestMongod, withDatabase } from '../mongo.js';
import { resultOf, startCli } from '../run-cli.js';
import { until } from '../until.js';

/** Has the program run as a standalone server, until whoever knows it as a replica set has seen that. */
async function beStandalone(mongod: TestMongod, isSeen: () => Promise<boolean>): Promise<void> {
  await mongod.kill('SIGTERM');
  const [dbPath = ''] = mongod.dbPaths;
  const [port = 0] = mongod.ports;
  const other = await MongodProcess.start({ program: await findMongod(), dbPath, port });
  await until(isSeen, 10_000);
  await other.stop();
  await mongod.restart();
}

it('finds its only MongoDB again after that was a standalone server for a while', async () => {
  const mongod = await TestMongod.start();
  const service = await createTestApp({ mongodbUri: mongod.uri, logLevel: 'info' });
  const status = async () => (await service.getOpen('/health/ready')).status;
  try {
    await until(async () => (await status()) === 200);
    // The driver asks it no more.
    await beStandalone(mongod, async () => service.database.topology.summary === 'not connected');
    await until(async () => (await status()) === 200, 15_000);
    const path = '/v1/markets/market/provider/e';
    expect((await service.get(path)).status).toBe(200);
    await until(async () => {
      const { body } = await service.getOpen('/health/ready');
      return body.changeFeed.state === 'current';
    }, 10_000);
  } finally {
    await service.close();
    await mongod.stop();
  }
}, 60_000);

it('stores a feed after its only MongoDB was a standalone server for a while', async () => {
  const mongod = await TestMongod.start();
  const client = new MongoClient(withDatabase(mongod.memberUri(), databaseName(mongod.uri)));
  const child = startCli(['markets', 'import', '--json', '--follow', '-'], {
    env: { MONGODB_URI: mongod.uri },
  });
  const ended = resultOf(child);
  const write = () => child.stdin.write(`${ndjson(aRecord())}\n`);
  const stored = () => client.db().collection('markets').countDocuments();
  try {
    write();
    await until(async () => (await stored()) === 1);
    await beStandalone(mongod, async () => {
      const { log } = await client.db('admin').command({ getLog: 'global' });
      return log.some((line: string) => /client metadata.*markets-odds-service/.test(line));
    });
    write();
    await until(async () => (await stored()) === 2, 15_000);
    child.kill('SIGTERM');
    const { code, stdout } = await ended;
    expect(JSON.parse(stdout)).toEqual(counts({ read: 2, inserted: 2 }));
    expect(code).toBe(0);
  } finally {
    child.kill('SIGKILL');
    await client.close();
    await mongod.stop();
  }
}, 60_000);
