import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestApp, type TestApp } from './app.js';
import { aMarket, store } from './factories.js';
import { testDatabaseUri } from './mongo.js';
import { monitored, readsDuring } from './mongo-commands.js';
import { MongosDisguise } from './mongos-disguise.js';
import { sendTogether } from './raw-http.js';
import { runHere } from './run-here.js';
import { until } from './until.js';

const NO_PROOF = "through a mongos it can't be known whether changes are missing";

let mongos: MongosDisguise;
let mongodbUri: string;
let service: TestApp;

beforeAll(async () => {
  const { port, pathname } = new URL(testDatabaseUri());
  mongos = await new MongosDisguise(Number(port)).listen();
  mongodbUri = `mongodb://127.0.0.1:${mongos.port}${pathname}`;
  service = await createTestApp({ mongodbUri: monitored(mongodbUri) });
});

afterAll(async () => {
  await service.close();
  mongos.close();
});

describe('behind what says that it is a mongos', () => {
  it('look-ups are answered, by MongoDB each time', async () => {
    const market = aMarket();
    await store(service.database.connection, market);
    const path = `/v1/markets/market/fixture/${market.fixtureId}`;
    for (let time = 0; time < 3; time += 1) {
      const { body } = await service.get(path).expect(200);
      expect(body).toMatchObject({ data: [{ marketId: market.marketId }], meta: { itemCount: 1 } });
    }

    const { text } = await service.getOpen('/metrics').expect(200);
    expect(text).toMatch(/^markets_cache_hits_total 0$/m);
    expect(text).toMatch(/^markets_cache_misses_total 3$/m);
  });

  it('a page has what was written past that mongos', async () => {
    const market = aMarket();
    await store(service.database.connection, market);
    const path = `/v1/markets/market/fixture/${market.fixtureId}`;
    const client = await MongoClient.connect(testDatabaseUri());
    const markets = client.db(service.database.connection.name).collection('markets');
    try {
      for (const name of ['first', 'second']) {
        await markets.updateOne({ marketId: market.marketId }, { $set: { name } });
        const { body } = await service.get(path).expect(200);
        expect(body.data).toEqual([expect.objectContaining({ name })]);
      }
    } finally {
      await client.close();
    }
  });

  it('pages that share a command have what was written to the shards of each of them', async () => {
    const ids = ['one', 'two', 'three'];
    const requests = ids.map(
      (id) =>
        `GET /v1/markets/market/fixture/${id} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${service.key}\r\n\r\n`,
    );
    // On a busy machine they may not come together.
    await until(async () => {
      const reads = await readsDuring(service.database.connection, () =>
        sendTogether(service.app.getHttpServer(), requests),
      );
      return reads.some(({ find, filter }) => {
        const asked = filter?.$or?.map(({ fixtureId }: { fixtureId?: string }) => fixtureId);
        return find === 'markets' && asked?.toSorted().join() === ids.toSorted().join();
      });
    });
  });

  it('a page that waits for that mongos has what was written past it, too', async () => {
    const { connection, topology } = service.database;
    const isKnown = () => [...topology['servers']].some(({ type }) => type === 'Mongos');
    const look = () => service.get('/v1/markets/market/fixture/waits');
    const reads = await readsDuring(connection, async () => {
      for (let waited = 0; waited < 3;) {
        // The driver does not know a mongos that was cut off while it was asked.
        const asked = look().then();
        for (let ms = 0; ms < 50 && isKnown(); ms += 1) {
          mongos.cut();
          await delay(1);
        }
        if (!isKnown()) waited += 1;
        await Promise.all([asked, look()]);
        await until(isKnown);
      }
    });
    const snapshots = reads.filter(({ readConcern }) => readConcern?.level === 'snapshot');
    const after = snapshots.map(({ readConcern }) => typeof readConcern.afterClusterTime);
    expect(new Set(after)).toEqual(new Set(['object']));
  });

  it('the feed is blind, and db status says why', async () => {
    const { body } = await service.getOpen('/health/ready').expect(200);
    expect(body).toEqual({ status: 'ready', changeFeed: { state: 'blind' } });

    const { stdout } = await runHere(['db', 'status', '--json'], {
      env: { MONGODB_URI: mongodbUri },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      topology: { type: 'sharded' },
      changeFeed: { on: false, reason: NO_PROOF },
      newestChange: { at: expect.any(String) },
    });
  });
});
