import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import { createTestApp, type TestApp } from '../app.js';
import { aMarket, store } from '../factories.js';
import { metric } from '../metric.js';
import { idleCursors, setFailCommand } from '../mongo-admin.js';
import { TestMongod } from '../mongo.js';
import { until } from '../until.js';

const PATH = '/v1/markets/market/fixture';

let mongod: TestMongod;
let service: TestApp;

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await createTestApp({ mongodbUri: mongod.uri, cacheMaxMb: 0 });
});

afterAll(async () => {
  await service?.close();
  await mongod?.stop();
});

const clientOf = () => service.database.connection.getClient();

async function cursors(): Promise<number> {
  const status = await service.database.db.admin().command({ serverStatus: 1 });
  return Number(status['metrics'].cursor.open.total);
}

const connectionsInUse = () => metric(service, 'mongodb_pool_connections_in_use');

describe('a page above 16 MB', () => {
  it('comes in time, and leaves no cursor behind', async () => {
    const fixtureId = 'large';
    const name = 'x'.repeat(1024 * 1024);
    const markets = Array.from({ length: 20 }, () => aMarket({ fixtureId, name }));
    for (const market of markets) await store(service.database.connection, market);
    await service.get(`${PATH}/any`).expect(200);
    const before = await cursors();

    const { body } = await service.get(`${PATH}/${fixtureId}?take=100`).expect(200);
    expect(body.data.map(({ marketId }: Document) => marketId)).toEqual(
      markets.map(({ marketId }) => marketId),
    );
    expect(body.meta.itemCount).toBe(markets.length);
    await until(async () => (await cursors()) <= before, 5_000);

    // MongoDB hangs in its midst, and then also when it is told to forget the rest.
    for (const failCommands of [['getMore'], ['getMore', 'killCursors']]) {
      const data = { failCommands, blockConnection: true, blockTimeMS: 4_000 };
      await setFailCommand(mongod, 'alwaysOn', data);
      const askedAt = performance.now();
      await service.get(`${PATH}/${fixtureId}?take=100`).expect(504);
      expect(performance.now() - askedAt).toBeLessThan(2_500);
      await until(async () => (await connectionsInUse()) === 0, 2_500);
      // Switched off, the fault lets the server read on to the end.
      if (failCommands.length === 1)
        await until(async () => (await idleCursors(clientOf())) === 0, 2_500);
      await setFailCommand(mongod, 'off');
    }
  }, 60_000);
});
