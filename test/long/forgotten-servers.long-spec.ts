import { expect, it } from '@jest/globals';
import { findMongod } from '../../src/embedded-mongod/find-mongod.js';
import { MongodProcess } from '../../src/embedded-mongod/mongod-process.js';
import { createTestApp } from '../app.js';
import { TestMongod } from '../mongo.js';
import { until } from '../until.js';

it('finds its only MongoDB again after that was a standalone server for a while', async () => {
  const mongod = await TestMongod.start();
  const service = await createTestApp({ mongodbUri: mongod.uri, logLevel: 'info' });
  const status = async () => (await service.getOpen('/health/ready')).status;
  try {
    await until(async () => (await status()) === 200);
    await mongod.kill('SIGTERM');
    const [dbPath = ''] = mongod.dbPaths;
    const [port = 0] = mongod.ports;
    const program = await findMongod();
    const other = await MongodProcess.start({ program, dbPath, port });
    // The driver asks it no more.
    await until(() => service.database.topology.summary === 'not connected', 10_000);
    await other.stop();
    await mongod.restart();
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
