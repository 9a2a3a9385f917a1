import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { idleCursors, setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { until } from './until.js';

const START_MS = 60_000;
const PATH = '/v1/markets/market/fixture';

let mongod: TestMongod;
let service: TestApp;

beforeAll(async () => {
  mongod = await TestMongod.start();
  service = await createTestApp({ mongodbUri: mongod.uri, cacheMaxMb: 0 });
}, START_MS);

/** Nothing that failed on purpose outlives its test. */
const mend = () => setFailCommand(mongod, 'off');

afterAll(async () => {
  await service?.close();
  await mongod?.stop();
}, START_MS);

async function serverStatus(): Promise<Document> {
  return service.database.db.admin().command({ serverStatus: 1 });
}

async function sessions(): Promise<number> {
  return (await serverStatus())['logicalSessionRecordCache'].activeSessionsCount;
}

async function cursors(): Promise<number> {
  return Number((await serverStatus())['metrics'].cursor.open.total);
}

const clientOf = () => service.database.connection.getClient();

async function connectionsInUse(): Promise<number> {
  const { text } = await service.getOpen('/metrics').expect(200);
  return Number(/^mongodb_pool_connections_in_use (\d+)$/m.exec(text)?.[1]);
}

describe('a read', () => {
  afterEach(mend);

  it.each([175, 239, 246])('survives that there is no snapshot for once: %i', async (errorCode) => {
    const data = { failCommands: ['aggregate'], errorCode };
    // One of the snapshot, and one of the pass in its place.
    await setFailCommand(mongod, { times: 2 }, data);
    const { body } = await service.get(`${PATH}/any-${errorCode}`).expect(200);
    expect(body.data).toEqual([]);
  });

  it('survives that a connection is cut, as do those beside it', async () => {
    await setFailCommand(
      mongod,
      { times: 1 },
      { failCommands: ['aggregate'], closeConnection: true },
    );
    const asked = Array.from({ length: 20 }, (_, n) => service.get(`${PATH}/cut-${n}`));
    const answers = await Promise.all(asked);
    // The driver does not know its server again before the next heartbeat.
    const next = await service.get(`${PATH}/cut`);
    expect(new Set([...answers, next].map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('gives its session back', async () => {
    const before = await sessions();
    for (let look = 0; look < 40; look += 1) await service.get(`${PATH}/any`).expect(200);
    expect(await sessions()).toBeLessThan(before + 20);
  });

  it('that comes too late lets its connection go', async () => {
    const data = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 3_500 };
    await setFailCommand(mongod, { times: 1 }, data);
    await service.get(`${PATH}/any`).expect(504);
    await until(async () => (await connectionsInUse()) === 0, 1_500);
  });
});

describe('a page above 16 MB', () => {
  it(
    'comes in time, and leaves no cursor behind',
    async () => {
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
        await mend();
      }
    },
    START_MS,
  );
});

describe('readiness', () => {
  it(
    'stands while there is only too much to read',
    async () => {
      const data = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 1_500 };
      await setFailCommand(mongod, 'alwaysOn', data);
      const over = new AbortController();
      const asked = Promise.all(
        Array.from({ length: 300 }, async (_, n) => (await service.get(`${PATH}/${n}`)).status),
      ).finally(() => over.abort());
      const told = new Set<number>();
      while (!over.signal.aborted) told.add((await service.getOpen('/health/ready')).status);
      expect(await asked).toContain(503);
      expect([...told]).toEqual([200]);
      await mend();
    },
    START_MS,
  );

  it('falls soon after MongoDB died', async () => {
    await service.getOpen('/health/ready').expect(200);
    await mongod.kill('SIGKILL');
    await until(async () => (await service.getOpen('/health/ready')).status === 503, 2_500);
  });
});
