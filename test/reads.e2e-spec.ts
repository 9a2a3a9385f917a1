import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { READ_BUDGET_MS } from '../src/database/bounded-reads.js';
import { DRIVER_OPTIONS } from '../src/database/driver-options.js';
import { HTTP_LIMITS } from '../src/http/http-limits.js';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { metric } from './metric.js';
import { idleCursors, setFailCommand } from './mongo-admin.js';
import { TestMongod } from './mongo.js';
import { sendRaw, sendTogether } from './raw-http.js';
import { until } from './until.js';

const START_MS = 60_000;
const PATH = '/v1/markets/market/fixture';

/** No answer comes later, and some room for a busy machine. Milliseconds. */
const LATEST_MS = 2_500 + 1_000;

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

async function sessions(): Promise<number> {
  const status = await service.database.db.admin().command({ serverStatus: 1 });
  return status['logicalSessionRecordCache'].activeSessionsCount;
}

const connectionsInUse = () => metric(service, 'mongodb_pool_connections_in_use');
const connectionsClosed = () => metric(service, 'mongodb_pool_connections_closed_total');

describe('a read', () => {
  afterEach(mend);

  it('has only the time that its request has left', async () => {
    // Who has waited longest still has the time that reading a key may take.
    expect(HTTP_LIMITS.longestWaitMs + READ_BUDGET_MS.key).toBeLessThan(2_000);
    // A look-up may make one read of each before its 1.9 s are over.
    const { key, scope, markets } = READ_BUDGET_MS;
    expect(key + scope + markets).toBeLessThan(1_900);
    const { mongodbUri } = service.config;
    // One after the other, each in the time of a read: the fourth would be answered 2.4 s after it came, as a watch.
    const limits = { ...HTTP_LIMITS, inFlight: 1, longestWaitMs: 5_000 };
    const queued = await createTestApp({ mongodbUri, cacheMaxMb: 0 }, { limits });
    try {
      await queued.get(`${PATH}/any`).expect(200);
      const blocked = { failCommands: ['aggregate', 'find'], blockConnection: true };
      const namespace = `${queued.database.db.databaseName}.markets`;
      await setFailCommand(mongod, 'alwaysOn', { ...blocked, blockTimeMS: 600, namespace });
      const began = performance.now();
      const paths = [1, 2, 3, 4].map((asked) => `${PATH}/queued-${asked}`);
      paths.push('/v1/markets/changes?eventId=queued');
      const answers = await Promise.all(paths.map((path) => queued.get(path)));
      const tookMs = performance.now() - began;
      expect(answers.filter(({ status }) => status === 504).length).toBeGreaterThanOrEqual(2);
      expect(tookMs).toBeLessThan(2_300);
    } finally {
      await queued.close();
    }
  });

  it.each([175, 239, 246])('survives that there is no snapshot for once: %i', async (errorCode) => {
    const data = { failCommands: ['aggregate'], errorCode };
    // Four times one of the snapshot, and one of the pass in its place.
    await setFailCommand(mongod, { times: 8 }, data);
    const { body } = await service.get(`${PATH}/any-${errorCode}`).expect(200);
    expect(body.data).toEqual([]);
  });

  // As a member of a replica set answers that is shut down, or no longer the primary.
  it.each([6, 7, 89, 91, 134, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436])(
    'survives that its server goes away: %i',
    async (errorCode) => {
      await setFailCommand(mongod, { times: 1 }, { failCommands: ['aggregate'], errorCode });
      const { body } = await service.get(`${PATH}/gone-${errorCode}`).expect(200);
      expect(body.data).toEqual([]);
    },
  );

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

  it('survives that the connection to a standalone server is cut, as do those beside it', async () => {
    const alone = await TestMongod.start({ members: 0 });
    const reader = await createTestApp({ mongodbUri: alone.uri, cacheMaxMb: 0 });
    try {
      await reader.get(`${PATH}/any`).expect(200);
      const cut = { failCommands: ['aggregate'], closeConnection: true };
      await setFailCommand(alone, { times: 1 }, cut);
      const asked = Array.from({ length: 20 }, (_, n) => reader.get(`${PATH}/alone-${n}`));
      const answers = await Promise.all(asked);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(reader.logged.filter((line) => line.includes('refuses reads'))).toEqual([]);
    } finally {
      await reader.close();
      await alone.stop();
    }
  });

  it('that is too slow does not cost its connection', async () => {
    await store(service.database.connection, aMarket({ fixtureId: 'slow' }));
    const before = await connectionsClosed();
    const slow = { find: 'markets', filter: { $where: 'sleep(3000) || true' } };
    const read = service.database.read(900, (attempt) => attempt.rows(slow));
    await expect(read).rejects.toMatchObject({ code: 'database_timeout' });
    expect(await connectionsClosed()).toBe(before);
  });

  it('that is too slow for the connection string is told as too slow, not as no database', async () => {
    const uri = new URL(mongod.uri);
    uri.searchParams.set('socketTimeoutMS', '300');
    const hasty = await createTestApp({ mongodbUri: uri.href, cacheMaxMb: 0 });
    try {
      await hasty.get(`${PATH}/any`).expect(200);
      const blocked = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 600 };
      await setFailCommand(mongod, 'alwaysOn', blocked);
      const { body } = await hasty.get(`${PATH}/hasty`).expect(504);
      expect(body.code).toBe('database_timeout');
    } finally {
      await hasty.close();
    }
  });

  it('that is too slow is no refusal, for which operators would be called', async () => {
    await setFailCommand(mongod, 'alwaysOn', { failCommands: ['aggregate'], errorCode: 50 });
    await service.get(`${PATH}/slow`).expect(504);
    expect(service.logged.filter((line) => line.includes('refuses reads'))).toEqual([]);
  });

  it('listens no longer for the loss of its primary when it is over', async () => {
    await Promise.all([1, 2, 3].map((n) => service.get(`${PATH}/over-${n}`).expect(200)));
    const { events } = service.database.topology;
    // Keys are read in the background, too.
    await until(() => events.listenerCount('primaryLost') === 0, 10_000);
  });

  it('gives its session back', async () => {
    const before = await sessions();
    for (let look = 0; look < 40; look += 1) await service.get(`${PATH}/any`).expect(200);
    expect(await sessions()).toBeLessThan(before + 20);
  });

  it('that fails in its midst leaves no cursor behind', async () => {
    const fixtureId = 'in-batches';
    await store(service.database.connection, aMarket({ fixtureId }), aMarket({ fixtureId }));
    await setFailCommand(mongod, 'alwaysOn', { failCommands: ['getMore'], errorCode: 1 });
    const find = { find: 'markets', filter: { fixtureId }, batchSize: 1 };
    const read = service.database.read(10_000, (attempt) => attempt.rows(find));
    await expect(read).rejects.toMatchObject({ code: 'database_unavailable' });
    await until(async () => (await idleCursors(service.database.connection.getClient())) === 0);
  });

  it('whose cursor its server does not have any more is made again', async () => {
    const fixtureId = 'cursor-lost';
    await store(service.database.connection, aMarket({ fixtureId }), aMarket({ fixtureId }));
    const CURSOR_NOT_FOUND = 43;
    const lost = { failCommands: ['getMore'], errorCode: CURSOR_NOT_FOUND };
    await setFailCommand(mongod, { times: 1 }, lost);
    const find = { find: 'markets', filter: { fixtureId }, batchSize: 1 };
    const read = service.database.read(10_000, (attempt) => attempt.rows(find));
    await expect(read).resolves.toHaveLength(2);
  });

  it('that comes too late lets its connection go', async () => {
    const data = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 3_500 };
    await setFailCommand(mongod, { times: 1 }, data);
    await service.get(`${PATH}/any`).expect(504);
    await until(async () => (await connectionsInUse()) === 0, 1_500);
  });
});

describe('more look-ups than are let in', () => {
  afterEach(mend);

  it('are all answered in time while MongoDB answers nobody', async () => {
    const aLookup = (index: number) =>
      `GET ${PATH}/hung-${index} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.key}\r\n\r\n`;
    const block = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 3_000 };
    await setFailCommand(mongod, 'alwaysOn', block);
    const startedAt = performance.now();
    const lookups = sendTogether(
      service.app.getHttpServer(),
      Array.from({ length: 4 * HTTP_LIMITS.inFlight }, (_, index) => aLookup(index)),
    );
    const [live] = await sendRaw(service.port, 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(live?.status).toBe(200);
    const answers = await lookups;
    expect(performance.now() - startedAt).toBeLessThan(LATEST_MS);
    expect(answers).toHaveLength(4 * HTTP_LIMITS.inFlight);
    expect(answers.filter(({ status }) => status !== 503 && status !== 504)).toEqual([]);
  }, 20_000);

  it('are refused as soon as they have waited for too long, each of them', async () => {
    const { mongodbUri } = service.config;
    const limits = { ...HTTP_LIMITS, inFlight: 1, longestWaitMs: 500 };
    const narrow = await createTestApp({ mongodbUri, cacheMaxMb: 0 }, { limits });
    try {
      await narrow.get(`${PATH}/any`).expect(200);
      const block = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 3_000 };
      await setFailCommand(mongod, 'alwaysOn', block);
      const asked: Promise<string>[] = [];
      for (let index = 0; index < 3; index++) {
        asked.push(narrow.get(`${PATH}/${index}`).then(({ body }) => body.code));
        await delay(50);
      }
      // The first has the only place for longer than the others may wait, but not for twice as long.
      expect(await Promise.all(asked)).toEqual(['database_timeout', 'overloaded', 'overloaded']);
    } finally {
      await narrow.close();
    }
  });
});

describe('readiness', () => {
  afterEach(mend);

  it('stands while all connections are busy: MongoDB is there', async () => {
    const data = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 600 };
    await setFailCommand(mongod, 'alwaysOn', data);
    const lookUps = Array.from({ length: 2 * DRIVER_OPTIONS.maxPoolSize }, async (_, n) => {
      const { status } = await service.get(`${PATH}/busy-${n}`);
      if (status === 200) throw new Error('It had a connection');
    });
    // Some wait for a connection in vain: the others keep theirs for a while.
    await Promise.any(lookUps);
    const { status, body } = await service.getOpen('/health/ready');
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'ready' } });
    await Promise.allSettled(lookUps);
  });

  it('falls while MongoDB answers no read in time', async () => {
    const block = { failCommands: ['find'], blockConnection: true, blockTimeMS: 1_500 };
    await setFailCommand(mongod, 'alwaysOn', block);
    await until(async () => (await service.getOpen('/health/ready')).status === 503, 2_500);
  });

  it(
    'stands while there is only too much to read',
    async () => {
      const data = { failCommands: ['aggregate'], blockConnection: true, blockTimeMS: 1_500 };
      await setFailCommand(mongod, 'alwaysOn', data);
      const over = new AbortController();
      const asked = Promise.all(
        Array.from({ length: 3 * DRIVER_OPTIONS.maxPoolSize }, async (_, n) => {
          const { status } = await service.get(`${PATH}/${n}`);
          return status;
        }),
      ).finally(() => over.abort());
      const told = new Set<number>();
      while (!over.signal.aborted) told.add((await service.getOpen('/health/ready')).status);
      expect(await asked).toContain(503);
      expect([...told]).toEqual([200]);
    },
    START_MS,
  );
});

it('readiness falls soon after MongoDB died', async () => {
  await service.getOpen('/health/ready').expect(200);
  await mongod.kill('SIGKILL');
  await until(async () => (await service.getOpen('/health/ready')).status === 503, 2_500);
});
